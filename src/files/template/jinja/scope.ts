// Scopes of names while a template runs. A loop's body, a macro, `with` and blocks that capture text each open a scope of their own;
// `if` does not. `set` writes to the innermost one, so what a loop sets ends with its round.

import type { FilterContext } from './filters/filter.ts';
import { shownText } from './values/print.ts';
import { Undefined, type Value } from './values/values.ts';

/** State of a rendering: its text so far, and what its filters need. */
export class Run {
  text = '';
  readonly context: FilterContext;

  constructor(context: FilterContext) {
    this.context = context;
  }

  write(piece: string): void {
    this.context.meter.make(this.text.length + piece.length, piece.length);
    this.text += piece;
  }

  /** Returns what `action` writes, which goes nowhere else. */
  capture(action: () => void): string {
    const before = this.text;
    this.text = '';
    try {
      action();
      return this.text;
    } finally {
      this.text = before;
    }
  }
}

export class Scope {
  readonly run: Run;
  readonly parent: Scope | null;
  /** The template's outermost scope. */
  readonly root: Scope;
  readonly #values: Map<string, Value>;

  constructor(run: Run, parent: Scope | null, values = new Map<string, Value>()) {
    this.run = run;
    this.parent = parent;
    this.#values = values;
    this.root = parent?.parent ? parent.root : this;
  }

  inner(): Scope {
    return new Scope(this.run, this);
  }

  get(name: string): Value {
    const own = this.#values.get(name);
    if (own !== undefined) return own;
    for (let scope = this.parent; scope; scope = scope.parent) {
      const value = scope.#values.get(name);
      if (value !== undefined) return value;
    }
    return new Undefined(`${shownText(name)} is undefined`);
  }

  set(name: string, value: Value): void {
    this.#values.set(name, value);
  }
}
