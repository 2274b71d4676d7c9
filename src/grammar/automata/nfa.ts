// Nondeterministic finite automata (NFA) over characters, by Thompson's construction from an expression. Assertions stay conditions
// of epsilon edges, since they are decided only once the character after them is known.

import type { CodePoints } from './code-points.ts';
import { classSets, type Dfa } from './dfa-table.ts';
import { TooLarge } from './dfa.ts';
import type { Assertion, Expression } from './expression.ts';

export interface EpsilonEdge {
  to: number;
  /** null: the edge may always be taken. */
  condition: Assertion | null;
}

export interface Nfa {
  /** [states]: the edges that take no character. */
  epsilon: EpsilonEdge[][];
  /** [states]: the edges that take one character of the set with this index. */
  edges: { set: number; to: number }[][];
  sets: CodePoints[];
  start: number;
  final: number;
}

const MOST_STATES = 200_000;

/** The NFA of an expression. Throws TooLarge for more than `most` states. */
export function buildNfa(expression: Expression, most = MOST_STATES): Nfa {
  return new ThompsonBuilder(most).build(expression);
}

class ThompsonBuilder {
  readonly #epsilon: Nfa['epsilon'] = [];
  readonly #edges: Nfa['edges'] = [];
  readonly #sets: CodePoints[] = [];
  /** Indices of sets, by identity and by content. */
  readonly #setIndices = new Map<CodePoints | string, number>();
  readonly #most: number;

  constructor(most: number) {
    this.#most = most;
  }

  build(expression: Expression): Nfa {
    const start = this.#state();
    const final = this.#add(expression, start);
    return { epsilon: this.#epsilon, edges: this.#edges, sets: this.#sets, start, final };
  }

  #state(): number {
    if (this.#epsilon.length >= this.#most) throw new TooLarge(`an expression of over ${this.#most} places`);
    this.#edges.push([]);
    return this.#epsilon.push([]) - 1;
  }

  #skip(from: number, to: number, condition: Assertion | null = null): void {
    this.#epsilon[from]!.push({ to, condition });
  }

  #take(from: number, set: CodePoints, to: number): void {
    this.#edges[from]!.push({ set: this.#indexOf(set), to });
  }

  #indexOf(set: CodePoints): number {
    let index = this.#setIndices.get(set);
    if (index === undefined) {
      const content = set.join();
      index = this.#setIndices.get(content);
      if (index === undefined) {
        index = this.#sets.push(set) - 1;
        this.#setIndices.set(content, index);
      }
      this.#setIndices.set(set, index);
    }
    return index;
  }

  /** Adds the fragment of `part` behind state `from`; returns its last state. */
  #add(part: Expression, from: number): number {
    switch (part.kind) {
      case 'set': {
        const to = this.#state();
        this.#take(from, part.set, to);
        return to;
      }
      case 'assertion': {
        const to = this.#state();
        this.#skip(from, to, part.assertion);
        return to;
      }
      case 'sequence':
        return part.parts.reduce((at, each) => this.#add(each, at), from);
      case 'choice':
        return this.#addChoice(part.parts, from);
      case 'repeat':
        return this.#addRepeat(part.part, part.min, part.max, from);
      case 'dfa':
        return this.#addDfa(part.dfa, from);
    }
  }

  #addChoice(parts: readonly Expression[], from: number): number {
    const ends = parts.map((each) => {
      const begin = this.#state();
      this.#skip(from, begin);
      return this.#add(each, begin);
    });
    const to = this.#state();
    for (const end of ends) this.#skip(end, to);
    return to;
  }

  #addRepeat(part: Expression, min: number, max: number, from: number): number {
    let at = from;
    for (let i = 0; i < min; i++) {
      const before = at;
      at = this.#add(part, before);
      if (at === before) break; // the empty sequence, which needs no copies
    }
    const to = this.#state();
    if (max === Infinity) {
      const loop = this.#state();
      this.#skip(at, loop);
      this.#skip(this.#add(part, loop), loop);
      this.#skip(loop, to);
      return to;
    }
    for (let i = min; i < max; i++) {
      this.#skip(at, to);
      const before = at;
      at = this.#add(part, before);
      if (at === before) break;
    }
    this.#skip(at, to);
    return to;
  }

  #addDfa(dfa: Dfa, from: number): number {
    const sets = classSets(dfa);
    const first = this.#epsilon.length;
    for (let i = 0; i < dfa.accept.length; i++) this.#state();
    const to = this.#state();
    dfa.accept.forEach((accepting, i) => {
      if (accepting === 1) this.#skip(first + i, to);
      sets.forEach((set, c) => {
        const next = dfa.next[i * dfa.classCount + c]!;
        if (next >= 0) this.#take(first + i, set, first + next);
      });
    });
    if (dfa.accept.length > 0) this.#skip(from, first);
    return to;
  }
}
