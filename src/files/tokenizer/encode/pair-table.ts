// A map from two small numbers to a third, in flat memory: a vocabulary's merges by their tokens, a trie's children by node and character.
// Open addressing, at most half full.

export class PairTable {
  #size = 0;
  #shift: number;
  #lefts: Int32Array;
  #rights: Int32Array;
  #values: Int32Array;

  /** For about that many pairs; it grows beyond. */
  constructor(pairs: number) {
    const bits = Math.max(4, Math.ceil(Math.log2(2 * pairs + 1)));
    this.#shift = 32 - bits;
    this.#lefts = new Int32Array(2 ** bits).fill(-1);
    this.#rights = new Int32Array(2 ** bits);
    this.#values = new Int32Array(2 ** bits);
  }

  /** -1 where there is none. */
  get(left: number, right: number): number {
    const at = this.#find(left, right);
    return this.#lefts[at] === -1 ? -1 : this.#values[at]!;
  }

  set(left: number, right: number, value: number): void {
    if (2 * (this.#size + 1) > this.#lefts.length) this.#grow();
    const at = this.#find(left, right);
    if (this.#lefts[at] === -1) this.#size++;
    this.#lefts[at] = left;
    this.#rights[at] = right;
    this.#values[at] = value;
  }

  #find(left: number, right: number): number {
    const mask = this.#lefts.length - 1;
    let at = (Math.imul(left, 0x9e3779b1) ^ Math.imul(right + 1, 0x85ebca6b)) >>> this.#shift;
    while (this.#lefts[at] !== -1 && (this.#lefts[at] !== left || this.#rights[at] !== right))
      at = (at + 1) & mask;
    return at;
  }

  #grow(): void {
    const [lefts, rights, values] = [this.#lefts, this.#rights, this.#values];
    const larger = new PairTable(lefts.length);
    lefts.forEach((left, at) => {
      if (left !== -1) larger.set(left, rights[at]!, values[at]!);
    });
    this.#shift = larger.#shift;
    this.#lefts = larger.#lefts;
    this.#rights = larger.#rights;
    this.#values = larger.#values;
  }
}
