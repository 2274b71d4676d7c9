// How many ways a regular expression may try before it gives up: programs that run expressions by backtracking take forever for some of them.

/** Counts for one part of an expression: the ways in which it may match a text, and the places where it may choose. */
interface Choices {
  ways: number;
  places: number;
}

/** What may stand after an atom: `*`, `+`, `?`, `{2}`, `{2,}`, `{2,5}`, each also lazy. */
const QUANTIFIER = /(?:([*+?])|\{(\d+)(,(\d*))?\})\??/y;
/** An atom that is no group: a class, an escape, a character. */
const ATOM = /\[(?:\\.|[^\]\\])*\]|\\.|[^()|]/suy;
const GROUP = /\((?:\?(?:[:=!]|<[=!]|<[^>]*>))?/y;

/** An upper bound of the ways in which an expression is tried on a text of a length; Infinity is among them. */
export function mostWays(pattern: string, length: number): number {
  const reader = new Reader(pattern, length);
  const { ways } = reader.alternatives();
  // Without an anchor, each place of the text is tried as the beginning.
  const isAnchored = pattern.startsWith('^') && !reader.hasBranches;
  return isAnchored ? ways : ways * (length + 1);
}

class Reader {
  readonly #pattern: string;
  readonly #length: number;
  #at = 0;
  #depth = 0;
  /** Whether a `|` stands outside of groups. */
  hasBranches = false;

  constructor(pattern: string, length: number) {
    this.#pattern = pattern;
    this.#length = length;
  }

  /** What stands up to the end of the group, or of the expression. */
  alternatives(): Choices {
    let sum = { ways: 1, places: 0 };
    while (this.#at < this.#pattern.length && this.#pattern[this.#at] !== ')') {
      if (this.#pattern[this.#at] === '|') {
        this.#at += 1;
        this.hasBranches ||= this.#depth === 0;
        sum = { ways: sum.ways * 2, places: sum.places + 1 };
        continue;
      }
      const { ways, places } = this.#repeated(this.#atom());
      sum = { ways: sum.ways * ways, places: sum.places + places };
    }
    return sum;
  }

  #atom(): Choices {
    if (!this.#take(GROUP)) {
      // An expression that is damaged is refused by the language afterwards.
      if (!this.#take(ATOM)) this.#at += 1;
      return { ways: 1, places: 0 };
    }
    this.#depth += 1;
    const inner = this.alternatives();
    this.#depth -= 1;
    this.#at += 1;
    return inner;
  }

  #repeated({ ways, places }: Choices): Choices {
    const found = this.#take(QUANTIFIER);
    if (!found) return { ways, places };
    const [, sign, first, comma, last] = found;
    const least = sign === undefined ? Number(first) : sign === '+' ? 1 : 0;
    const most =
      sign === '?' ? 1 : sign === undefined && comma === undefined ? least : last ? Number(last) : Infinity;
    const counts = Math.min(this.#length, most - least) + 1;
    // Where a part that may choose is repeated, each character of the text may be the end of any of the choices.
    const inner = places === 0 ? 1 : Math.min((places + 1) ** this.#length, ways ** most);
    return { ways: counts * inner, places: places + (counts > 1 ? 1 : 0) };
  }

  #take(expression: RegExp): RegExpExecArray | null {
    expression.lastIndex = this.#at;
    const found = expression.exec(this.#pattern);
    if (found) this.#at = expression.lastIndex;
    return found;
  }
}
