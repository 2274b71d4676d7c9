// Python's pickles as data (protocols 0 to 5 as far as torch writes them): a program for a stack of values, of which this reader carries out
// only what makes values. A name of a function or class stays a name, and its call a record of the call: nothing is imported and no code runs.

import { PickleCursor } from './pickle-cursor.ts';

/** A function or class by name, as "module.name". */
export class PickledName {
  readonly name: string;

  constructor(name: string) {
    this.name = name;
  }
}

/** A call that is not carried out, or an object with its state. */
export class PickledCall {
  readonly callee: Pickled;
  readonly args: readonly Pickled[];
  state: Pickled = null;

  constructor(callee: Pickled, args: readonly Pickled[]) {
    this.callee = callee;
    this.args = args;
  }
}

/** Tuples and sets are lists, dictionaries are maps. Integers beyond 2^53 are bigints. `object`: what `replace` or `persistent` gave. */
export type Pickled =
  | null
  | boolean
  | number
  | bigint
  | string
  | Uint8Array
  | Pickled[]
  | Map<Pickled, Pickled>
  | PickledName
  | PickledCall
  | object;

export interface PickleReaders {
  /** The value of an id that stands for something outside of the pickle, as a storage of tensors. */
  persistent(id: Pickled): Pickled;
  /** The value of a call, if it is one that the caller knows; undefined: it stays a record. */
  replace(name: string, args: readonly Pickled[]): Pickled | undefined;
}

/** Reads one pickle from `start` on; returns its value and where the next one begins. Throws PickleEnds, or a RangeError for what is no pickle. */
export function unpickle(
  bytes: Uint8Array,
  readers: PickleReaders,
  start = 0,
): { value: Pickled; end: number } {
  const cursor = new PickleCursor(bytes, start);
  const value = new PickleMachine(cursor, readers).run();
  return { value, end: cursor.at };
}

class PickleMachine {
  readonly #from: PickleCursor;
  readonly #readers: PickleReaders;
  #stack: Pickled[] = [];
  /** Stacks below the marks. */
  readonly #below: Pickled[][] = [];
  readonly #memo = new Map<number, Pickled>();

  constructor(from: PickleCursor, readers: PickleReaders) {
    this.#from = from;
    this.#readers = readers;
  }

  run(): Pickled {
    for (;;) {
      const code = String.fromCharCode(this.#from.take(1)[0]!);
      if (code === '.') return this.#pop();
      const push = this.#literal(code) ?? this.#joined(code);
      if (code === 'N') this.#stack.push(null);
      else if (push !== undefined) this.#stack.push(push);
      else if (!this.#change(code)) throw new RangeError(`opcode 0x${code.charCodeAt(0).toString(16)}`);
    }
  }

  /** The number, text or bytes that an opcode pushes, or an empty list or map; undefined: it does something else. */
  #literal(code: string): Pickled | undefined {
    switch (code) {
      case '\x88':
        return true;
      case '\x89':
        return false;
      case 'K':
        return this.#from.take(1)[0]!;
      case 'M':
        return this.#from.unsigned(2);
      case 'J':
        return this.#from.unsigned(4) | 0;
      case '\x8a':
        return this.#from.long(this.#from.unsigned(1));
      case '\x8b':
        return this.#from.long(this.#from.unsigned(4));
      case 'I':
        return this.#from.line() === '01';
      case 'G':
        return this.#from.double();
      case '\x8c':
        return this.#from.text(this.#from.unsigned(1));
      case 'X':
      case 'T':
        return this.#from.text(this.#from.unsigned(4));
      case '\x8d':
        return this.#from.text(this.#from.unsigned(8));
      case 'U':
        return this.#from.text(this.#from.unsigned(1));
      case 'C':
        return this.#from.take(this.#from.unsigned(1)).slice();
      case 'B':
        return this.#from.take(this.#from.unsigned(4)).slice();
      case '\x8e':
        return this.#from.take(this.#from.unsigned(8)).slice();
      case ']':
      case ')':
      case '\x8f':
        return [];
      case '}':
        return new Map();
      default:
        return undefined;
    }
  }

  /** The value that an opcode makes of others and pushes; undefined: it does something else. */
  #joined(code: string): Pickled | undefined {
    switch (code) {
      case 't':
      case 'l':
      case '\x91':
        return this.#sinceMark();
      case 'd':
        return setAll(new Map(), this.#sinceMark());
      case '\x85':
        return this.#popLast(1);
      case '\x86':
        return this.#popLast(2);
      case '\x87':
        return this.#popLast(3);
      case 'h':
        return this.#known(this.#from.unsigned(1));
      case 'j':
        return this.#known(this.#from.unsigned(4));
      case 'c':
        return new PickledName(`${this.#from.line()}.${this.#from.line()}`);
      case '\x93':
        return new PickledName(this.#popLast(2).map(textOf).join('.'));
      case 'Q':
        return this.#readers.persistent(this.#pop());
      case 'R':
      case '\x81':
        return this.#call(...(this.#popLast(2) as [Pickled, Pickled]));
      default:
        return undefined;
    }
  }

  /** Carries out an opcode that changes what is there. Returns false for one that is not known. */
  #change(code: string): boolean {
    switch (code) {
      case '\x80':
        this.#from.take(1); // the protocol
        return true;
      case '\x95':
        this.#from.take(8); // the length of a frame
        return true;
      case '(':
        this.#below.push(this.#stack);
        this.#stack = [];
        return true;
      case '0':
        this.#pop();
        return true;
      case 'q':
        this.#memo.set(this.#from.unsigned(1), this.#top());
        return true;
      case 'r':
        this.#memo.set(this.#from.unsigned(4), this.#top());
        return true;
      case '\x94':
        this.#memo.set(this.#memo.size, this.#top());
        return true;
      case 'a':
        return this.#append(this.#popLast(1));
      case 'e':
      case '\x90':
        return this.#append(this.#sinceMark());
      case 's':
        return this.#set(this.#popLast(2));
      case 'u':
        return this.#set(this.#sinceMark());
      case 'b': {
        const state = this.#pop();
        const object = this.#top();
        if (object instanceof PickledCall) object.state = state;
        return true;
      }
      default:
        return false;
    }
  }

  #call(callee: Pickled, args: Pickled): Pickled {
    const list = Array.isArray(args) ? args : [args];
    if (callee instanceof PickledName) {
      const { name } = callee;
      if (/^(collections\.(OrderedDict|defaultdict)|(__builtin__|builtins)\.dict)$/.test(name))
        return new Map();
      const value = this.#readers.replace(name, list);
      if (value !== undefined) return value;
    }
    return new PickledCall(callee, list);
  }

  /** Records of calls keep no items: nobody reads them. */
  #append(values: Pickled[]): true {
    const list = this.#top();
    if (Array.isArray(list)) for (const value of values) list.push(value);
    return true;
  }

  #set(pairs: Pickled[]): true {
    const map = this.#top();
    if (map instanceof Map) setAll(map, pairs);
    return true;
  }

  #top(): Pickled {
    if (this.#stack.length === 0) throw new RangeError('an empty stack');
    return this.#stack.at(-1)!;
  }

  #pop(): Pickled {
    const top = this.#top();
    this.#stack.pop();
    return top;
  }

  #popLast(count: number): Pickled[] {
    if (this.#stack.length < count) throw new RangeError('an empty stack');
    return this.#stack.splice(this.#stack.length - count, count);
  }

  #sinceMark(): Pickled[] {
    const values = this.#stack;
    const below = this.#below.pop();
    if (below === undefined) throw new RangeError('no mark');
    this.#stack = below;
    return values;
  }

  #known(key: number): Pickled {
    if (!this.#memo.has(key)) throw new RangeError(`no value ${key}`);
    return this.#memo.get(key)!;
  }
}

/** A value that should be a text or a number. Throws a RangeError for others. */
export function textOf(value: Pickled | undefined): string {
  if (typeof value === 'string' || typeof value === 'number') return `${value}`;
  throw new RangeError('a name is no text');
}

function setAll(map: Map<Pickled, Pickled>, pairs: readonly Pickled[]): Map<Pickled, Pickled> {
  for (let i = 0; i + 1 < pairs.length; i += 2) map.set(pairs[i]!, pairs[i + 1]!);
  return map;
}
