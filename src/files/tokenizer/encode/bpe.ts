// Byte-pair encoding: a piece begins as characters; the adjacent pair with the lowest merge rank is merged first, the leftmost
// among equals. Short pieces are searched linearly, long ones keep their pairs in a heap, so that the time grows as n log n.

import { readMerges, type Merges } from './merges.ts';
import { byteIds, vocabularyOf, type TokenModel } from './vocabulary.ts';

const MOST_SCANNED = 32;
/** Above any position in a text. */
const POSITIONS = 2 ** 26;

export function createBpe(config: Record<string, unknown>): TokenModel {
  const ids = vocabularyOf(config['vocab']);
  const merges = readMerges(config, ids);
  const unknown = typeof config['unk_token'] === 'string' ? (ids.get(config['unk_token']) ?? null) : null;
  const suffix = typeof config['end_of_word_suffix'] === 'string' ? config['end_of_word_suffix'] : '';
  const prefix =
    typeof config['continuing_subword_prefix'] === 'string' ? config['continuing_subword_prefix'] : '';
  const [fuses, fallsBack] = [config['fuse_unk'] === true, config['byte_fallback'] === true];
  const ignoresMerges = config['ignore_merges'] === true;

  /** The characters' ids. Characters without one are bytes, or the unknown token, or nothing. */
  const symbols = (piece: string): number[] => {
    const result: number[] = [];
    let wasUnknown = false;
    for (let at = 0; at < piece.length;) {
      const character = String.fromCodePoint(piece.codePointAt(at)!);
      const isFirst = at === 0;
      at += character.length;
      const spelled = (isFirst ? '' : prefix) + character + (at === piece.length ? suffix : '');
      const id = ids.get(spelled);
      if (id !== undefined) {
        result.push(id);
        wasUnknown = false;
        continue;
      }
      const bytes = fallsBack ? byteIds(spelled, ids) : null;
      if (bytes !== null) result.push(...bytes);
      else if (unknown !== null) {
        if (!(wasUnknown && fuses)) result.push(unknown);
        wasUnknown = true;
      }
    }
    return result;
  };

  return {
    ids,
    wordSuffix: suffix,
    encode(piece, into) {
      const whole = ignoresMerges ? ids.get(piece) : undefined;
      if (whole !== undefined) return void into.push(whole);
      const start = symbols(piece);
      const tokens = start.length <= MOST_SCANNED ? mergeShort(start, merges) : mergeLong(start, merges);
      for (const id of tokens) into.push(id);
    },
  };
}

/** Modifies `tokens`. */
function mergeShort(tokens: number[], { rankOf, made }: Merges): number[] {
  const near: number[] = [];
  for (let at = 0; at + 1 < tokens.length; at++) near.push(rankOf(tokens[at]!, tokens[at + 1]!));
  for (;;) {
    let best = -1;
    for (let at = 0; at < near.length; at++) {
      const rank = near[at]!;
      if (rank >= 0 && (best < 0 || rank < near[best]!)) best = at;
    }
    if (best < 0) return tokens;
    tokens.splice(best, 2, made(near[best]!));
    near.splice(best, 1);
    if (best > 0) near[best - 1] = rankOf(tokens[best - 1]!, tokens[best]!);
    if (best < near.length) near[best] = rankOf(tokens[best]!, tokens[best + 1]!);
  }
}

function mergeLong(start: readonly number[], { rankOf, made }: Merges): number[] {
  const tokens = Int32Array.from(start);
  const next = Int32Array.from(start, (_, at) => (at + 1 < start.length ? at + 1 : -1));
  const before = Int32Array.from(start, (_, at) => at - 1);
  const heap = new Heap();
  const rankAt = (at: number): number =>
    at < 0 || next[at]! < 0 ? -1 : rankOf(tokens[at]!, tokens[next[at]!]!);
  const offer = (at: number): void => {
    const rank = rankAt(at);
    if (rank >= 0) heap.push(rank * POSITIONS + at);
  };
  for (let at = 0; at < start.length; at++) offer(at);
  for (;;) {
    const least = heap.pop();
    if (least === null) break;
    const [at, rank] = [least % POSITIONS, Math.floor(least / POSITIONS)];
    // An earlier merge may have consumed one of the two tokens.
    if (tokens[at]! < 0 || rankAt(at) !== rank) continue;
    const gone = next[at]!;
    tokens[at] = made(rank);
    tokens[gone] = -1;
    const follower = next[gone]!;
    next[at] = follower;
    if (follower >= 0) before[follower] = at;
    offer(before[at]!);
    offer(at);
  }
  return Array.from(tokens).filter((id) => id >= 0);
}

/** Least number first. */
class Heap {
  #items: number[] = [];

  push(item: number): void {
    const items = this.#items;
    let at = items.push(item) - 1;
    for (let parent = (at - 1) >> 1; at > 0 && items[parent]! > item; at = parent, parent = (at - 1) >> 1) {
      items[at] = items[parent]!;
    }
    items[at] = item;
  }

  pop(): number | null {
    const items = this.#items;
    const last = items.pop();
    if (last === undefined) return null;
    if (items.length === 0) return last;
    const least = items[0]!;
    let at = 0;
    for (;;) {
      let child = 2 * at + 1;
      if (child >= items.length) break;
      if (child + 1 < items.length && items[child + 1]! < items[child]!) child++;
      if (items[child]! >= last) break;
      items[at] = items[child]!;
      at = child;
    }
    items[at] = last;
    return least;
  }
}
