// The part of a token mask that follows from one lexeme and its state alone, whatever follows the lexeme: the tokens that stay within it,
// and the exits, where the lexeme is complete and tokens continue into what follows. Masks are cached for all grammars that have the
// same lexeme. Short, longer and long tokens have masks of their own, since many states of a length bound share those of short tokens.

import { LazyDfa } from './lazy-dfa.ts';
import { isLiteral, type Lexeme } from '../lexemes/lexeme.ts';
import { representativeState } from '../lexemes/lexeme-state.ts';
import { LruCache } from '../bounds/lru-cache.ts';
import { equivalentStates } from './state-equivalence.ts';
import type { Trie } from './trie.ts';
import { TrieTraversal } from './trie-traversal.ts';
import type { WorkBudget } from '../bounds/work-budget.ts';

export interface LexemeMask {
  /** Distinguishes masks in keys of caches. */
  id: number;
  /** Bits of the tokens that stay within the lexeme; null: they are few. */
  bits: Uint32Array | null;
  /** The tokens that stay within the lexeme, where they are few. */
  tokens: Int32Array;
  /** Positions (see TrieTraversal) where the lexeme may be complete and some token continues. */
  exits: Int32Array;
  /** Nodes that the traversal visited. */
  visited: number;
}

/** The ranges of token lengths that have masks of their own, and the equivalent states of each. */
interface LengthGroups {
  /** Most bytes of the tokens of each group, ascending. */
  lengths: readonly number[];
  /** [groups][states]: see equivalentStates. */
  firstEquivalent: Int32Array[];
}

/** Most bytes of all cached masks. */
const MOST_MASK_BYTES = 64 * 2 ** 20;
/** Most bytes of the lazy DFAs of all lexemes; beyond, they begin anew. */
const MOST_DFA_BYTES = 64 * 2 ** 20;
/** Most bytes of short tokens, and of longer ones. */
const SHORT = 8;
const LONGER = 24;
/** Most lexemes whose state equivalence is cached. */
const MOST_GROUPS = 256;

export class LexemeMasks {
  readonly traversal: TrieTraversal;
  readonly #words: number;
  /** Tokens that JSON strings leave out, though their characters may stand there. */
  readonly #marks: ReadonlySet<number>;
  readonly #masks = new LruCache<string, LexemeMask>({
    maxSize: MOST_MASK_BYTES,
    sizeOf: ({ bits, tokens, exits }) => 256 + 4 * ((bits?.length ?? 0) + tokens.length + exits.length),
  });
  readonly #groups = new LruCache<string, LengthGroups>({ maxSize: MOST_GROUPS });
  #dfas = new Map<Lexeme, LazyDfa>();
  #dfaBytes = 0;
  #made = 0;

  /** `size`: tokens of the vocabulary. `marks`: tokens that JSON strings leave out. */
  constructor(trie: Trie, size: number, marks: ReadonlySet<number>) {
    this.traversal = new TrieTraversal(trie);
    this.#words = Math.ceil(size / 32);
    this.#marks = marks;
  }

  get trie(): Trie {
    return this.traversal.trie;
  }

  /** The masks of a lexeme in a state, one for each group of token lengths. */
  of(lexeme: Lexeme, state: number): LexemeMask[] {
    let groups = this.#groups.get(lexeme.key);
    if (!groups) this.#groups.set(lexeme.key, (groups = this.#groupsOf(lexeme)));
    const { lengths, firstEquivalent } = groups;
    return lengths.map((most, i) => {
      const like = representativeState(lexeme, state, firstEquivalent[i]!, most);
      const key = `${lexeme.key}/${i}/${like}`;
      let mask = this.#masks.get(key);
      if (!mask) this.#masks.set(key, (mask = this.#compute(lexeme, like, lengths[i - 1] ?? 0, most)));
      return mask;
    });
  }

  /**
   * Traverses the subtree of a position where the lexeme is in `state`. `take` is called for each position where tokens end
   * (isExit false), then for each where the lexeme is complete and tokens continue.
   */
  below(
    from: number,
    lexeme: Lexeme,
    state: number,
    budget: WorkBudget,
    take: (position: number, isExit: boolean) => void,
  ): void {
    const { traversal } = this;
    traversal.run(from, this.#dfaOf(lexeme), state, { above: 0, most: traversal.trie.deepest });
    budget.spend(traversal.visited);
    // `take` may run the traversal again.
    const tokens = traversal.tokens.slice(0, traversal.tokenCount);
    const exits = traversal.exits.slice(0, traversal.exitCount);
    for (const position of tokens) take(position, false);
    for (const position of exits) take(position, true);
  }

  #compute(lexeme: Lexeme, state: number, above: number, most: number): LexemeMask {
    const { traversal } = this;
    const dfa = this.#dfaOf(lexeme);
    traversal.run(traversal.root(dfa, state), dfa, state, { above, most });
    const { tokens: positions, tokenCount, exits, exitCount, visited } = traversal;
    let count = 0;
    for (let i = 0; i < tokenCount; i++) count += traversal.tokensAt(positions[i]!);
    const bits = count > this.#words ? new Uint32Array(this.#words) : null;
    const few: number[] = [];
    for (let i = 0; i < tokenCount; i++) {
      if (bits) traversal.setTokens(positions[i]!, bits);
      else traversal.listTokens(positions[i]!, few);
    }
    const marks = this.#marks;
    if (bits && lexeme.quoted) for (const id of marks) bits[id >>> 5]! &= ~(1 << (id & 31));
    const tokens = Int32Array.from(lexeme.quoted ? few.filter((id) => !marks.has(id)) : few);
    return { id: this.#made++, bits, tokens, exits: exits.slice(0, exitCount), visited };
  }

  #groupsOf(lexeme: Lexeme): LengthGroups {
    const { deepest } = this.trie;
    const one = [deepest];
    if (isLiteral(lexeme))
      return { lengths: one, firstEquivalent: [Int32Array.from(lexeme.accept, (_, state) => state)] };
    const lengths = [SHORT, LONGER, deepest];
    const firstEquivalent = equivalentStates(lexeme, lengths);
    const [short, , long] = firstEquivalent;
    // Without a length bound most lexemes have few states, which short texts distinguish as well as long ones.
    const isGrouped = lexeme.length !== null || short!.some((state, i) => state !== long![i]);
    return isGrouped ? { lengths, firstEquivalent } : { lengths: one, firstEquivalent: [long!] };
  }

  #dfaOf(lexeme: Lexeme): LazyDfa {
    let dfa = this.#dfas.get(lexeme);
    if (dfa && !dfa.isFull) return dfa;
    if (this.#dfaBytes > MOST_DFA_BYTES) {
      this.#dfas = new Map();
      this.#dfaBytes = 0;
    }
    // Bytes of replaced tables still count, so the tables begin anew a little early.
    dfa = new LazyDfa(lexeme, (bytes) => (this.#dfaBytes += bytes));
    this.#dfas.set(lexeme, dfa);
    return dfa;
  }
}
