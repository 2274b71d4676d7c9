// Jinja with Python's semantics: what transformers renders chat templates with (jinja2 3.1's sandbox, blocks trimmed, loop controls,
// `generation`, its own tojson). Values and operations are Python's; a rendering is bounded (meter.ts).

import { EngineError } from '../../error.ts';
import { execute } from './execute.ts';
import { TemplateFailure } from './values/failure.ts';
import type { FilterContext } from './filters/filter.ts';
import { FILTERS, TESTS } from './filters/filters.ts';
import { fromJson } from './values/from-json.ts';
import { globalValues } from './members/global-values.ts';
import { Meter, RENDER_LIMITS, TemplateLimitError, type TemplateLimits } from './values/meter.ts';
import { parseTemplate } from './syntax/parse.ts';
import { shown } from './values/print.ts';
import { Run, Scope } from './scope.ts';
import type { Statement } from './syntax/syntax.ts';
import { Undefined, type Value } from './values/values.ts';

export interface RenderOptions {
  limits?: TemplateLimits;
  /** For strftime_now. */
  now?: () => Date;
}

export class JinjaTemplate {
  readonly name: string;
  readonly syntax: readonly Statement[];

  /** `name`: for messages. Throws TemplateFailure for what is not a template, EngineError for one that is too large. */
  constructor(source: string, name: string) {
    this.name = name;
    this.syntax = this.#bounded(() => {
      const syntax = parseTemplate(source, name);
      checkNames(syntax);
      return syntax;
    });
  }

  /**
   * `variables`: plain data. Throws TemplateFailure for errors of Python and for raise_exception, EngineError `unsupported` beyond
   * the limits.
   */
  render(
    variables: Readonly<Record<string, unknown>>,
    { limits = RENDER_LIMITS, now = () => new Date() }: RenderOptions = {},
  ): string {
    return this.#bounded(() => {
      const meter = new Meter(this.name, limits);
      const values = globalValues(meter, now);
      for (const [name, value] of Object.entries(variables))
        if (value !== undefined) values.set(name, fromJson(value, meter));
      const run = new Run(filterContext(meter));
      execute(this.syntax, new Scope(run, new Scope(run, null, values)));
      return run.text;
    });
  }

  /** Converts a stack overflow, which deep nesting of syntax or values causes, to the error of a limit. */
  #bounded<T>(action: () => T): T {
    try {
      return action();
    } catch (error) {
      if (error instanceof TemplateFailure || error instanceof EngineError) throw error;
      if (error instanceof RangeError) throw new TemplateLimitError(this.name, 'depth that the stack holds');
      throw error;
    }
  }
}

const BODIES = ['body', 'otherwise', 'parameters'];

/**
 * Throws for filters and tests that there are none of. In an `if`, outside the bodies of other statements (`soft`), such a name is an error only
 * when it is evaluated.
 */
function checkNames(tree: unknown, soft = false): void {
  if (typeof tree !== 'object' || tree === null) return;
  const { kind, name } = tree as Partial<Record<string, unknown>>;
  if ((kind === 'filter' || kind === 'test') && !soft) {
    const known = kind === 'filter' ? FILTERS : TESTS;
    if (!known.has(String(name)))
      throw new TemplateFailure('TemplateSyntaxError', `No ${kind} named '${String(name)}'.`);
  }
  const isSoft = soft || kind === 'if' || kind === 'condition';
  for (const [member, part] of Object.entries(tree)) {
    const isBody = BODIES.includes(member) && kind !== undefined && kind !== 'if';
    checkNames(part, isBody || (kind === 'for' && member === 'test') ? false : isSoft);
  }
}

function filterContext(meter: Meter): FilterContext {
  const context: FilterContext = {
    meter,
    filter: (name, value, args, named) =>
      tableEntry(FILTERS, 'filter', name, meter)([value, ...args], named, context),
    test: (name, value, args, named) =>
      tableEntry(TESTS, 'test', name, meter)([value, ...args], named, context),
  };
  return context;
}

function tableEntry<T>(table: ReadonlyMap<string, T>, kind: string, name: Value, meter: Meter): T {
  const found = typeof name === 'string' ? table.get(name) : undefined;
  if (found !== undefined) return found;
  const hint =
    name instanceof Undefined ? ` (${name.message}; did you forget to quote the callable name?)` : '';
  throw new TemplateFailure('TemplateRuntimeError', `No ${kind} named ${shown(name, meter)}.${hint}`);
}
