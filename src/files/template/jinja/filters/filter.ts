// Filters and tests are functions of a value, of arguments bound to their parameters, and of the rendering they run in.

import type { Meter } from '../values/meter.ts';
import { bind, signature } from '../values/signature.ts';
import type { Arguments, Value } from '../values/values.ts';

/** The rendering, to its filters. */
export interface FilterContext {
  meter: Meter;
  /** Throw TemplateRuntimeError for a name that nothing has. */
  filter(name: Value, value: Value, args: readonly Value[], named: Arguments): Value;
  test(name: Value, value: Value, args: readonly Value[], named: Arguments): boolean;
}

/** A filter: its value is the first of `args`, which are as the template gives them. */
export type Filter = (args: readonly Value[], named: Arguments, context: FilterContext) => Value;

/** Filters by what signature() reads, with the value as the first parameter; `args` has one value for each. */
export function filterTable(
  rows: Readonly<Record<string, (args: readonly Value[], context: FilterContext) => Value>>,
): [string, Filter][] {
  return Object.entries(rows).map(([declared, run]) => {
    const known = signature(declared);
    return [known.name, (args, named, context) => run(bind(known, args, named), context)];
  });
}
