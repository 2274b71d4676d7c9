// The token mask of a parser state: which tokens may come next, as bits. Tokens that stay within the lexeme on top come from that
// lexeme's own mask; tokens that cross its end are followed into what is below it on the stack.

import type { Closure, ElementSymbol, NameSymbol, ParserState, StackEntry } from '../stacks/graph-stack.ts';
import type { LexemeMask, LexemeMasks } from './lexeme-mask.ts';
import type { Lexeme } from '../lexemes/lexeme.ts';
import { LruCache } from '../bounds/lru-cache.ts';
import type { PushdownAutomaton } from '../stacks/pushdown-automaton.ts';
import { clearSubtree, spentNodes } from './spent-elements.ts';
import { childOf, nodeAt } from './trie.ts';
import { NODE_STEPS } from '../bounds/work-budget.ts';

/** Most bytes of cached masks, of each kind. */
const MOST_BYTES = 64 * 2 ** 20;
/** Approximate bytes of a cached mask beside its bits. */
const ENTRY_BYTES = 200;
/** Most crossings that one mask looks at; tokens that stay within their lexeme are never left out. */
const MOST_CROSSINGS = 100_000;
/** Steps of finding a crossing among those looked at. */
const CROSSING_STEPS = 10;
const COLON = 0x3a;
const QUOTE = 0x22;

/** Adds tokens to a mask that is being computed. */
type Addition = (crossings: Crossings) => void;

/** A mask that is being computed. */
interface Crossings {
  bits: Uint32Array;
  /** Pairs of a stack and a trie position that were followed. */
  seen: Set<number>;
  /** Nodes of the trie after which the whole text is a match; null: they are not asked for. */
  ends: Set<number> | null;
}

/** The tokens within an element, and the nodes of the trie where it is complete and tokens continue. */
interface ElementMask {
  bits: Uint32Array;
  ends: Iterable<number>;
}

/** Approximate bytes of a place where an element is complete. */
const END_BYTES = 40;

export class TokenMasks {
  readonly #automaton: PushdownAutomaton;
  readonly #lexemeMasks: LexemeMasks;
  readonly #words: number;
  readonly #byState: LruCache<ParserState, Uint32Array>;
  readonly #byLexemeMasks: LruCache<string, Uint32Array>;
  /** Masks of the automata that read elements, by automaton. */
  readonly #ofElements = new Map<PushdownAutomaton, TokenMasks>();
  readonly #asElement: LruCache<ParserState, ElementMask>;

  /** `size`: tokens of the vocabulary. */
  constructor(automaton: PushdownAutomaton, lexemeMasks: LexemeMasks, size: number) {
    this.#automaton = automaton;
    this.#lexemeMasks = lexemeMasks;
    this.#words = Math.ceil(size / 32);
    const sizes = {
      maxSize: MOST_BYTES,
      sizeOf: (bits: Uint32Array): number => bits.byteLength + ENTRY_BYTES,
    };
    this.#byState = new LruCache(sizes);
    this.#byLexemeMasks = new LruCache(sizes);
    this.#asElement = new LruCache({
      maxSize: MOST_BYTES,
      sizeOf: ({ bits, ends }) => bits.byteLength + ENTRY_BYTES + END_BYTES * [...ends].length,
    });
  }

  /** Bytes of the cached masks. */
  get bytes(): number {
    const ofElements = [...this.#ofElements.values()].reduce((sum, { bytes }) => sum + bytes, 0);
    return this.#byState.size + this.#byLexemeMasks.size + this.#asElement.size + ofElements;
  }

  /** The bits of all tokens that a match can continue with; must not be changed. */
  of(state: ParserState): Uint32Array {
    let bits = this.#byState.get(state);
    if (!bits) this.#byState.set(state, (bits = this.#compute(state, null)));
    return bits;
  }

  /** Whether a match can continue with a token that passes through a node of the trie, whose bytes led to the state. */
  continuesBelow(state: ParserState, node: number): boolean {
    const bits = new Uint32Array(this.#words);
    this.#follow(state, node, { bits, seen: new Set(), ends: null });
    return bits.some((word) => word !== 0);
  }

  /** Adds the nodes of the trie after which the text is a match and tokens continue to `ends`. */
  #compute({ tops }: ParserState, ends: Set<number> | null): Uint32Array {
    this.#automaton.budget.begin();
    const within: LexemeMask[] = [];
    const additions: Addition[] = [];
    for (const top of tops) this.#collect(top, within, additions, ends !== null);
    // If no token spans several lexemes, the mask is a union of lexeme masks, which many states of a length bound share.
    if (additions.length === 0) return this.#cachedUnion(within);
    const crossings = { bits: this.#union(within), seen: new Set<number>(), ends };
    for (const add of additions) add(crossings);
    return crossings.bits;
  }

  /** Collects the masks of the lexeme on top of a stack, and what adds the tokens that they lack. */
  #collect(top: StackEntry, within: LexemeMask[], additions: Addition[], hasEnds: boolean): void {
    const { symbol } = top;
    if (symbol.kind === 'element') {
      additions.push((crossings) => this.#followElement(top, symbol, 0, crossings));
      return;
    }
    if (symbol.kind === 'token') {
      additions.push(({ bits }) => void (bits[symbol.id >>> 5]! |= 1 << (symbol.id & 31)));
      return;
    }
    if (symbol.kind !== 'lexeme' && symbol.kind !== 'name') return;
    const { budget } = this.#automaton;
    const masks = this.#lexemeMasks.of(this.#automaton.lexemeOf(symbol), symbol.state);
    // Cached masks are paid for as well, so that the mask of a state is refused always or never.
    for (const { visited } of masks) budget.spend(visited + NODE_STEPS);
    const hasExits = masks.some(({ exits }) => exits.length > 0);
    if (symbol.kind === 'name') {
      this.#collectName(top.below!, symbol, { masks, hasExits }, within, additions);
      return;
    }
    within.push(...masks);
    const after = hasExits ? this.#automaton.closure(top.below!) : null;
    if (!after || (after.tops.length === 0 && !(hasEnds && after.accepts))) return;
    additions.push((crossings) => {
      for (const { exits } of masks) for (const position of exits) this.#follow(after, position, crossings);
    });
  }

  #collectName(
    below: StackEntry,
    name: NameSymbol,
    { masks, hasExits }: { masks: LexemeMask[]; hasExits: boolean },
    within: LexemeMask[],
    additions: Addition[],
  ): void {
    const isFirst = name.used.others[name.group] === undefined;
    if (isFirst) within.push(...masks);
    if (isFirst && !hasExits) return;
    additions.push((crossings) => {
      if (!isFirst) this.#addUnused(crossings.bits, masks, name);
      for (const { exits } of masks) {
        for (const position of exits)
          for (const node of this.#lexemeMasks.traversal.nodesOf(position))
            this.#crossName(below, name, node, 0, crossings);
      }
    });
  }

  /** Adds the tokens below a trie position that continue with one of the stacks. */
  #follow(after: Closure, from: number, crossings: Crossings): void {
    this.#automaton.budget.spend(after.tops.length * CROSSING_STEPS);
    if (after.accepts && crossings.ends !== null)
      for (const node of this.#lexemeMasks.traversal.nodesOf(from)) crossings.ends.add(node);
    for (const top of after.tops) {
      const { symbol } = top;
      if (symbol.kind === 'lexeme')
        this.#followLexeme(top, this.#automaton.lexemeOf(symbol), symbol.state, from, crossings);
      // The bytes of a name decide whether it is used, so each node is followed by itself.
      if (symbol.kind === 'name')
        for (const node of this.#lexemeMasks.traversal.nodesOf(from))
          this.#followName(top, symbol, node, crossings);
      if (symbol.kind === 'element')
        for (const node of this.#lexemeMasks.traversal.nodesOf(from))
          this.#followElement(top, symbol, node, crossings);
    }
  }

  /** Adds the tokens below a node that continue with an element, and those that continue with what comes after it. */
  #followElement(top: StackEntry, element: ElementSymbol, from: number, crossings: Crossings): void {
    if (!this.#isNew(top, from, crossings.seen)) return;
    const automaton = this.#automaton;
    const { trie } = this.#lexemeMasks;
    const { bits, ends } = this.#masksOf(element).#elementMask(element.inner, from);
    const spent = spentNodes(automaton.elements, { element, arena: top.arena }, trie, from);
    const kept = spent.length === 0 ? bits : Uint32Array.from(bits);
    for (const node of spent) clearSubtree(trie, node, kept);
    for (let i = 0; i < kept.length; i++) crossings.bits[i]! |= kept[i]!;
    for (const node of ends) {
      if (spent.some((each) => each <= node && node < trie.subtreeEnd[each]!)) continue;
      const after = automaton.afterElement(top.below!, element, this.#between(from, node));
      if (after) this.#follow(automaton.closure(after), node, crossings);
    }
  }

  /** The masks of the automaton that reads an element. */
  #masksOf(element: ElementSymbol): TokenMasks {
    const automaton = this.#automaton.elements.automatonOf(element);
    let masks = this.#ofElements.get(automaton);
    if (masks === undefined) {
      masks = new TokenMasks(automaton, this.#lexemeMasks, 32 * this.#words);
      this.#ofElements.set(automaton, masks);
    }
    return masks;
  }

  /** Tokens that go on with an element from a node of the trie, and the nodes at which the element ends. */
  #elementMask(state: ParserState, from: number): ElementMask {
    const ends = new Set<number>();
    if (from > 0) {
      const bits = new Uint32Array(this.#words);
      this.#automaton.budget.begin();
      this.#follow(state, from, { bits, seen: new Set(), ends });
      ends.delete(from);
      return { bits, ends };
    }
    let mask = this.#asElement.get(state);
    if (mask === undefined) this.#asElement.set(state, (mask = { bits: this.#compute(state, ends), ends }));
    return mask;
  }

  #isNew(top: StackEntry, from: number, seen: Set<number>): boolean {
    const key = top.id * this.#lexemeMasks.traversal.positions + from;
    if (seen.has(key) || seen.size > MOST_CROSSINGS || this.#automaton.budget.isCrossingOver) return false;
    seen.add(key);
    return true;
  }

  #followLexeme(top: StackEntry, lexeme: Lexeme, state: number, from: number, crossings: Crossings): void {
    if (!this.#isNew(top, from, crossings.seen)) return;
    const automaton = this.#automaton;
    this.#lexemeMasks.below(from, lexeme, state, automaton.budget, (position, isExit) => {
      if (isExit) this.#follow(automaton.closure(top.below!), position, crossings);
      else this.#lexemeMasks.traversal.setTokens(position, crossings.bits);
    });
  }

  #followName(top: StackEntry, name: NameSymbol, from: number, crossings: Crossings): void {
    if (!this.#isNew(top, from, crossings.seen)) return;
    const automaton = this.#automaton;
    this.#lexemeMasks.below(from, automaton.lexemeOf(name), name.state, automaton.budget, (node, isExit) => {
      if (isExit) this.#crossName(top.below!, name, node, from, crossings);
      else if (!this.#isUsed(name, node, from)) this.#lexemeMasks.traversal.setTokens(node, crossings.bits);
    });
  }

  /** Follows what comes after a name that continued at node `from` and is complete at `node`. */
  #crossName(below: StackEntry, name: NameSymbol, node: number, from: number, crossings: Crossings): void {
    const automaton = this.#automaton;
    // Most tokens end at the quote of the name; the look for a colon saves computing what follows.
    if (!automaton.isInSet(name) && childOf(this.#lexemeMasks.trie, node, COLON) < 0) return;
    const after = automaton.afterName(below, name, name.spelled + this.#between(from, node));
    if (after) this.#follow(automaton.closure(after), node, crossings);
  }

  /** The bytes on the path between two nodes, one per UTF-16 unit. */
  #between(from: number, node: number): string {
    const { parent, byte } = this.#lexemeMasks.trie;
    let text = '';
    for (let at = node; at !== from; at = parent[at]!) text = String.fromCharCode(byte[at]!) + text;
    return text;
  }

  /** Whether a name that is complete at `node` occurs in the object already. */
  #isUsed({ used, group, spelled }: NameSymbol, node: number, from: number): boolean {
    const names = used.others[group];
    const { byte } = this.#lexemeMasks.trie;
    return names !== undefined && byte[node] === QUOTE && names.includes(spelled + this.#between(from, node));
  }

  /** Adds the tokens within a name, except those that complete a name that the object has already. */
  #addUnused(bits: Uint32Array, masks: LexemeMask[], { used, group, spelled }: NameSymbol): void {
    const { trie } = this.#lexemeMasks;
    const own = this.#union(masks);
    for (const name of used.others[group] ?? []) {
      const node = name.startsWith(spelled) ? nodeAt(trie, name.slice(spelled.length)) : -1;
      for (let id = node < 0 ? -1 : trie.token[node]!; id >= 0; id = trie.sameBytes[id]!)
        own[id >>> 5]! &= ~(1 << (id & 31));
    }
    for (let i = 0; i < bits.length; i++) bits[i]! |= own[i]!;
  }

  #union(masks: readonly LexemeMask[]): Uint32Array {
    const words = this.#words;
    const bits = new Uint32Array(words);
    for (const { bits: dense, tokens } of masks) {
      if (dense) for (let i = 0; i < words; i++) bits[i]! |= dense[i]!;
      for (const id of tokens) bits[id >>> 5]! |= 1 << (id & 31);
    }
    return bits;
  }

  #cachedUnion(masks: readonly LexemeMask[]): Uint32Array {
    const key = masks.map(({ id }) => id).join();
    let bits = this.#byLexemeMasks.get(key);
    if (!bits) this.#byLexemeMasks.set(key, (bits = this.#union(masks)));
    return bits;
  }
}
