// Values of a template, with Python's types: int (number within ±2^53, bigint beyond), float, str, bool, None (null), list (array), and
// the classes below. Nothing of JavaScript's own objects can be reached from a template.

import { TemplateFailure, type FailureKind } from './failure.ts';

export type Value = null | boolean | number | bigint | string | readonly Value[] | PythonObject;

export abstract class PythonObject {
  /** Name of the type, as Python's type(value).__name__. */
  abstract readonly typeName: string;
}

export class Float extends PythonObject {
  readonly typeName = 'float';
  readonly value: number;
  constructor(value: number) {
    super();
    this.value = value;
  }
}

export class Tuple extends PythonObject {
  readonly typeName: string = 'tuple';
  readonly items: readonly Value[];
  /** Names of the first items, of a named tuple. */
  readonly names: readonly string[];
  constructor(items: readonly Value[], names: readonly string[] = []) {
    super();
    this.items = items;
    this.names = names;
  }
}

export class Range extends PythonObject {
  readonly typeName = 'range';
  readonly start: number;
  readonly stop: number;
  readonly step: number;
  readonly length: number;
  constructor(start: number, stop: number, step: number) {
    super();
    this.start = start;
    this.stop = stop;
    this.step = step;
    this.length = Math.max(0, Math.ceil((stop - start) / step));
  }
  at(index: number): number {
    return this.start + index * this.step;
  }
}

/** Text that counts as escaped: joined to other text by `+` or `%`, it escapes that. */
export class Markup extends PythonObject {
  readonly typeName = 'Markup';
  readonly text: string;
  constructor(text: string) {
    super();
    this.text = text;
  }
}

/** A name, member or element that is not there. It prints as nothing, is false and empty; anything else raises. */
export class Undefined extends PythonObject {
  readonly typeName = 'Undefined';
  readonly message: string;
  readonly kind: FailureKind;
  constructor(message: string, kind: FailureKind = 'UndefinedError') {
    super();
    this.message = message;
    this.kind = kind;
  }
  raise(): never {
    throw new TemplateFailure(this.kind, this.message);
  }
}

export type Arguments = ReadonlyMap<string, Value>;

/** A value that can be called: a macro, a method, a global function. */
export abstract class Callable extends PythonObject {
  abstract call(args: readonly Value[], named: Arguments): Value;
  /** The value as repr() prints it. */
  abstract readonly shown: string;
}

const NO_MEMBERS: ReadonlyMap<string, Value> = new Map();

export class NativeFunction extends Callable {
  readonly typeName: string;
  readonly name: string;
  readonly members: ReadonlyMap<string, Value>;
  readonly #run: (args: readonly Value[], named: Arguments) => Value;
  constructor(
    name: string,
    run: (args: readonly Value[], named: Arguments) => Value,
    { typeName = 'builtin_function_or_method', members = NO_MEMBERS } = {},
  ) {
    super();
    this.name = name;
    this.#run = run;
    this.typeName = typeName;
    this.members = members;
  }
  get shown(): string {
    return this.typeName === 'function' ? `<function ${this.name}>` : `<built-in method ${this.name}>`;
  }
  call(args: readonly Value[], named: Arguments): Value {
    return this.#run(args, named);
  }
}

/** A generator or iterator: its elements are computed when they are read, and only once. */
export class Lazy extends PythonObject {
  readonly typeName: string;
  readonly iterator: Iterator<Value>;
  constructor(values: Iterable<Value>, typeName = 'generator') {
    super();
    this.iterator = values[Symbol.iterator]();
    this.typeName = typeName;
  }
}

export function isText(value: Value): value is string | Markup {
  return typeof value === 'string' || value instanceof Markup;
}

export function isInt(value: Value): value is number | bigint | boolean {
  return typeof value === 'number' || typeof value === 'bigint' || typeof value === 'boolean';
}

export function isList(value: Value): value is readonly Value[] {
  return Array.isArray(value);
}

/** Name of the type, as Python's type(value).__name__. */
export function typeName(value: Value): string {
  if (value === null) return 'NoneType';
  if (typeof value === 'string') return 'str';
  if (typeof value === 'boolean') return 'bool';
  if (typeof value === 'number' || typeof value === 'bigint') return 'int';
  return value instanceof PythonObject ? value.typeName : 'list';
}

/** A bigint as number where that is exact. */
export function narrowInt(value: bigint): number | bigint {
  const small = Number(value);
  return Number.isSafeInteger(small) ? small : value;
}
