// The values that every template has by name: range, dict, namespace, cycler, joiner, raise_exception, strftime_now.

import { Dict, Namespace } from '../values/dict.ts';
import { notImplemented, TemplateFailure, typeError, valueError } from '../values/failure.ts';
import { iterate, listOf } from '../values/iterate.ts';
import type { Meter } from '../values/meter.ts';
import { requireInt, requireText } from '../values/numbers.ts';
import { printed, shownText } from '../values/print.ts';
import { bind, signature } from '../values/signature.ts';
import { formatTime } from './strftime.ts';
import {
  NativeFunction,
  PythonObject,
  Range,
  typeName,
  type Arguments,
  type Value,
} from '../values/values.ts';

/** Limit of jinja2's sandbox. */
const LONGEST_RANGE = 100_000;
/** Characters of a time format, each of which may become a whole date. */
const LONGEST_TIME = 10_000;

function range(args: readonly Value[]): Range {
  if (args.length < 1 || args.length > 3)
    throw typeError(`range expected 1 to 3 arguments, got ${args.length}`);
  const [first = 0, second, by = 1] = args.map(requireInt);
  if (by === 0) throw valueError('range() arg 3 must not be zero');
  const made = second === undefined ? new Range(0, first, 1) : new Range(first, second, by);
  if (made.length > LONGEST_RANGE)
    throw new TemplateFailure(
      'OverflowError',
      `Range too big. The sandbox blocks ranges larger than MAX_RANGE (${LONGEST_RANGE}).`,
    );
  return made;
}

/** dict() of a mapping, of pairs, and of named arguments. */
function makeDict(args: readonly Value[], named: Arguments, meter: Meter): Dict {
  if (args.length > 1) throw typeError(`dict expected at most 1 argument, got ${args.length}`);
  const dict = new Dict();
  const [from] = args;
  if (from instanceof Dict) for (const { key, value } of from.pairs()) dict.set(key, value, meter);
  else if (from !== undefined) {
    let at = 0;
    for (const pair of iterate(from, meter)) {
      const [key, value, ...more] = listOf(pair, meter);
      if (key === undefined || value === undefined || more.length > 0)
        throw valueError(`dictionary update sequence element #${at} has another length; 2 is required`);
      dict.set(key, value, meter);
      at++;
    }
  }
  for (const [key, value] of named) dict.setName(key, value);
  meter.hold(dict.size);
  return dict;
}

export function dictFromKeys(keys: Value, value: Value, meter: Meter): Dict {
  const dict = new Dict();
  for (const key of iterate(keys, meter)) {
    meter.hold(1);
    dict.set(key, value, meter);
  }
  return dict;
}

/** Throws for a name that a namespace cannot hold. */
export function checkMemberName(name: Value): void {
  if (typeof name === 'string' && name.startsWith('_'))
    throw new TemplateFailure(
      'SecurityError',
      `Chat templates cannot store underscore-prefixed attributes on a namespace, but got ${shownText(name)}. Please rename the attribute.`,
    );
}

function makeNamespace(args: readonly Value[], named: Arguments, meter: Meter): Namespace {
  const members = makeDict(args, named, meter);
  for (const name of members.keys()) checkMemberName(name);
  return new Namespace(members);
}

/** cycler(): its values in turn. */
export class Cycler extends PythonObject {
  readonly typeName = 'Cycler';
  readonly #items: readonly Value[];
  #at = 0;

  constructor(items: readonly Value[]) {
    super();
    if (items.length === 0)
      throw new TemplateFailure('TemplateRuntimeError', 'at least one item has to be provided');
    this.#items = items;
  }

  attribute(name: string): Value | undefined {
    if (name === 'current') return this.#items[this.#at];
    if (name === 'pos') return this.#at;
    if (name === 'next')
      return new NativeFunction(name, () => {
        const value = this.#items[this.#at]!;
        this.#at = (this.#at + 1) % this.#items.length;
        return value;
      });
    if (name !== 'reset') return undefined;
    return new NativeFunction(name, () => {
      this.#at = 0;
      return null;
    });
  }
}

const JOINER = signature('joiner(sep=", ")');
const FROM_KEYS = signature('fromkeys(keys, value=null, /)');
const RAISE = signature('raise_exception(message)');
const TIME = signature('strftime_now(format)');

type Run = (args: readonly Value[], named: Arguments) => Value;

export function globalValues(meter: Meter, now: () => Date): Map<string, Value> {
  const native = (name: string, run: Run, members?: ReadonlyMap<string, Value>): [string, Value] => [
    name,
    new NativeFunction(name, run, { typeName: 'function', ...(members && { members }) }),
  ];
  const fromKeys = new NativeFunction('fromkeys', (args, named) => {
    const [keys, value] = bind(FROM_KEYS, args, named);
    return dictFromKeys(keys!, value!, meter);
  });
  return new Map([
    native('range', range),
    native('dict', (args, named) => makeDict(args, named, meter), new Map([['fromkeys', fromKeys]])),
    native('namespace', (args, named) => makeNamespace(args, named, meter)),
    native('cycler', (args) => new Cycler(args)),
    native('joiner', (args, named) => {
      const [separator] = bind(JOINER, args, named);
      let used = false;
      return new NativeFunction('joiner', () => {
        const text = used ? separator! : '';
        used = true;
        return text;
      });
    }),
    native('lipsum', () => {
      throw notImplemented('lipsum');
    }),
    native('raise_exception', (args, named) => {
      const [message] = bind(RAISE, args, named);
      throw new TemplateFailure('TemplateError', printed(message!, meter));
    }),
    native('strftime_now', (args, named) => {
      const [format] = bind(TIME, args, named);
      if (format === null) throw typeError(`strftime() argument 1 must be str, not ${typeName(format)}`);
      const text = requireText(format!, meter);
      if (text.length > LONGEST_TIME)
        throw valueError(`a time format has ${text.length} characters, ${LONGEST_TIME} are allowed`);
      return formatTime(text, now());
    }),
  ]);
}
