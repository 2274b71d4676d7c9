// Arguments in the order of parameters, as Python binds them.

import { typeError } from './failure.ts';
import type { Arguments, Value } from './values.ts';

interface Parameter {
  name: string;
  /** undefined: required. */
  value: Value | undefined;
}

export interface Signature {
  name: string;
  parameters: readonly Parameter[];
  /** The first parameters, which have no names for callers. */
  positionalOnly: number;
}

export const NO_NAMED: Arguments = new Map();

/**
 * `declared`: a name, and parameters in parentheses with commas between them, a default behind `=` as JSON; those before a `/` cannot be
 * given by name.
 */
export function signature(declared: string): Signature {
  const [, name = '', text = ''] = /^(\w+|[!<=>]+)\((.*)\)$/.exec(declared) ?? [];
  const words = (text.match(/(?:[^,"]|"[^"]*")+/g) ?? []).map((word) => word.trim());
  const slash = words.indexOf('/');
  const parameters = words
    .filter((word) => word !== '/' && word !== '')
    .map((word): Parameter => {
      const [key = '', value] = word.split('=');
      return { name: key, value: value === undefined ? undefined : (JSON.parse(value) as Value) };
    });
  return { name, parameters, positionalOnly: Math.max(0, slash) };
}

/** Binds arguments to parameters. Throws TypeError as Python does. */
export function bind(
  { name, parameters, positionalOnly }: Signature,
  args: readonly Value[],
  named: Arguments,
): Value[] {
  if (args.length > parameters.length) {
    const most = parameters.length;
    throw typeError(`${name}() takes at most ${most} arguments (${args.length} given)`);
  }
  const bound = parameters.map(({ name: parameter, value }, at): Value => {
    const given = at >= positionalOnly ? named.get(parameter) : undefined;
    if (at < args.length) {
      if (given !== undefined) throw typeError(`${name}() got multiple values for argument '${parameter}'`);
      return args[at]!;
    }
    const chosen = given === undefined ? value : given;
    if (chosen === undefined) throw typeError(`${name}() missing required argument: '${parameter}'`);
    return chosen;
  });
  for (const key of named.keys()) {
    const at = parameters.findIndex((parameter) => parameter.name === key);
    if (at < positionalOnly) throw typeError(`${name}() got an unexpected keyword argument '${key}'`);
  }
  return bound;
}
