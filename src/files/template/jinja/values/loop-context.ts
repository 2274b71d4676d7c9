// `loop` in the body of a for: where it is, and what stands before and after.

import { TemplateFailure, typeError } from './failure.ts';
import type { Meter } from './meter.ts';
import { Callable, Undefined, type Value } from './values.ts';

/** The body of a recursive loop over other elements, as text. */
export type Recurse = (over: Value, depth: number) => string;

export class LoopContext extends Callable {
  readonly typeName = 'LoopContext';
  index0 = -1;
  /** Values that `loop.changed` was last called with; null before. */
  lastChanged: readonly Value[] | null = null;
  readonly depth0: number;
  readonly #iterator: Iterator<Value>;
  readonly #meter: Meter;
  readonly #recurse: Recurse | null;
  readonly #sized: () => number | null;
  #length: number | null = null;
  /** Elements that were read ahead. */
  #ahead: Value[] = [];
  #current: Value = null;
  #before: Value = null;

  /** `sized`: the length; null if it is known only at the end. */
  constructor(
    elements: Iterator<Value>,
    sized: () => number | null,
    meter: Meter,
    recurse: Recurse | null,
    depth0: number,
  ) {
    super();
    this.#iterator = elements;
    this.#sized = sized;
    this.#meter = meter;
    this.#recurse = recurse;
    this.depth0 = depth0;
  }

  /** Moves on; false at the end. */
  advance(): boolean {
    if (!this.#peek()) return false;
    this.index0++;
    this.#before = this.#current;
    this.#current = this.#ahead.shift()!;
    return true;
  }

  get current(): Value {
    return this.#current;
  }

  get shown(): string {
    return `<LoopContext ${this.index0 + 1}/${this.length}>`;
  }

  get length(): number {
    this.#length ??= this.#sized();
    if (this.#length === null) {
      for (let next = this.#iterator.next(); !next.done; next = this.#iterator.next()) {
        this.#meter.hold(1);
        this.#ahead.push(next.value);
      }
      this.#length = this.index0 + 1 + this.#ahead.length;
    }
    return this.#length;
  }

  get isLast(): boolean {
    return !this.#peek();
  }

  get previous(): Value {
    return this.index0 === 0 ? new Undefined('there is no previous item') : this.#before;
  }

  get following(): Value {
    return this.#peek() ? this.#ahead[0]! : new Undefined('there is no next item');
  }

  cycle(values: readonly Value[]): Value {
    if (values.length === 0) throw typeError('no items for cycling given');
    return values[this.index0 % values.length]!;
  }

  *remaining(): Generator<Value> {
    while (this.advance()) yield this.#current;
  }

  call(args: readonly Value[]): Value {
    const [over] = args;
    if (over === undefined || args.length > 1)
      throw typeError(
        `LoopContext.__call__() takes 2 positional arguments but ${args.length + 1} were given`,
      );
    if (!this.#recurse)
      throw new TemplateFailure(
        'TypeError',
        "The loop must have the 'recursive' marker to be called recursively.",
      );
    return this.#recurse(over, this.depth0 + 1);
  }

  #peek(): boolean {
    if (this.#ahead.length > 0) return true;
    const { done, value } = this.#iterator.next();
    if (!done) this.#ahead.push(value);
    return !done;
  }
}
