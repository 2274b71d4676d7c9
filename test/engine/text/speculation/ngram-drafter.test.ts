// Drafts by looking up: where the last tokens occurred before, in the sequence itself or in replies that have ended.

import { describe, expect, it } from 'vitest';
import type { DraftSource } from '../../../../src/engine/text/speculation/drafter.ts';
import { NgramDrafter } from '../../../../src/engine/text/speculation/ngram-drafter.ts';
import { NgramIndex } from '../../../../src/engine/text/speculation/ngram-index.ts';
import { RecentTexts } from '../../../../src/engine/text/speculation/recent-texts.ts';
import { randomInteger } from '../../random.ts';

type Source = DraftSource & { progress: { ids: number[] } };

function sourceOf(ids: number[], isShared = true, predicted: number[] = []): Source {
  return {
    request: { speculative: true, isShared, predicted },
    progress: { ids, promptTokens: ids.length, inFlight: 0 },
  };
}

/** The longest run before the end of a text that occurs earlier in it, by comparing everything. */
function longestMatch(tokens: readonly number[]): { at: number; length: number } | null {
  let best: { at: number; length: number } | null = null;
  for (let at = tokens.length - 1; at >= 2; at--) {
    let length = 0;
    while (length < Math.min(at, 32) && tokens[at - 1 - length] === tokens[tokens.length - 1 - length])
      length++;
    if (length >= 2 && length > (best?.length ?? 0)) best = { at, length };
  }
  return best;
}

it('an index finds the longest of the latest places, and continues there', () => {
  const random = randomInteger(1);
  const index = new NgramIndex();
  let found = 0;
  for (let i = 0; i < 600; i++) {
    index.add(random(3));
    const match = index.find(index.tokens);
    const wanted = longestMatch(index.tokens);
    expect(match === null).toBe(wanted === null);
    if (!match) continue;
    found++;
    // Only the latest places are compared: what is found agrees, but a longer run may lie further back.
    expect(match.length).toBeLessThanOrEqual(wanted!.length);
    const before = (end: number): number[] => index.tokens.slice(end - match.length, end);
    expect(before(match.at)).toEqual(before(index.tokens.length));
    expect(match.at).toBeLessThan(index.tokens.length);
  }
  expect(found).toBeGreaterThan(500);
});

describe('a drafter by looking up', () => {
  it('proposes what followed, and repeats a period beyond the end of the text', () => {
    const drafter = new NgramDrafter();
    expect(drafter.propose(sourceOf([1, 2, 3, 4, 5, 1, 2, 3]), 4)?.ids).toEqual([4, 5, 1, 2]);
    expect(drafter.propose(sourceOf([7, 8, 9, 7, 8, 9]), 8)?.ids).toEqual([7, 8, 9, 7, 8, 9, 7, 8]);
    expect(drafter.propose(sourceOf([1, 2, 3, 4]), 4)).toBeNull();
    expect(drafter.propose(sourceOf([1, 2]), 4)).toBeNull();
  });

  it('follows the tokens that come, and looks anew where they differ', () => {
    const drafter = new NgramDrafter();
    const source = sourceOf([1, 2, 3, 4, 5, 6, 0, 3, 4, 5, 9, 1, 2, 3]);
    expect(drafter.propose(source, 2)?.ids).toEqual([4, 5]);
    source.progress.ids.push(4, 5);
    expect(drafter.propose(source, 2)?.ids).toEqual([6, 0]);
    source.progress.ids.push(9);
    expect(drafter.propose(source, 2)?.ids).toEqual([1, 2]);
    source.progress.ids.push(50, 51);
    expect(drafter.propose(source, 2)).toBeNull();
  });

  it('expects more where it was right, and less where it was wrong', () => {
    const drafter = new NgramDrafter();
    const right = sourceOf([1, 2, 3, 1, 2, 3]);
    const [before] = drafter.propose(right, 1)!.chances;
    for (let i = 0; i < 30; i++) right.progress.ids.push((i % 3) + 1);
    expect(drafter.propose(right, 1)!.chances[0]).toBeGreaterThan(before!);

    const wrong = sourceOf([1, 2, 3, 4, 1, 2, 3]);
    const [hoped] = drafter.propose(wrong, 1)!.chances;
    for (let i = 0; i < 10; i++) wrong.progress.ids.push(100 + i, 1, 2, 3);
    expect(drafter.propose(wrong, 1)!.chances[0]).toBeLessThan(hoped!);
  });

  it('looks in replies that have ended, but not in those of requests that share nothing', () => {
    const drafter = new NgramDrafter(new RecentTexts(1000));
    const say = (reply: number[], isShared = true): void => {
      const source = sourceOf([90], isShared);
      drafter.propose(source, 1);
      source.progress.ids.push(...reply);
      drafter.ended(source);
    };
    say([10, 11, 12, 13, 14]);
    say([20, 21, 22, 23, 24], false);
    expect(drafter.propose(sourceOf([5, 10, 11, 12]), 4)?.ids).toEqual([13, 14]);
    expect(drafter.propose(sourceOf([5, 10, 11, 12], false), 4)).toBeNull();
    expect(drafter.propose(sourceOf([5, 20, 21, 22]), 4)).toBeNull();
    // The beginning of a reply does not follow the end of another.
    say([30, 31]);
    expect(drafter.propose(sourceOf([12, 13, 14]), 4)).toBeNull();
  });

  it('begins with what the request predicts, and returns to it after a change', () => {
    const drafter = new NgramDrafter();
    const source = sourceOf([50, 51], true, [1, 2, 3, 4, 5, 6, 7, 8]);
    expect(drafter.propose(source, 3)?.ids).toEqual([1, 2, 3]);
    source.progress.ids.push(1, 2, 99, 4);
    expect(drafter.propose(source, 3)).toBeNull();
    source.progress.ids.push(5);
    expect(drafter.propose(source, 3)?.ids).toEqual([6, 7, 8]);
  });

  it('forgets the oldest replies when it is full', () => {
    const texts = new RecentTexts(40);
    texts.add([1, 2, 3, 4]);
    for (let i = 0; i < 10; i++) texts.add([100 + i, 101 + i, 102 + i, 103 + i]);
    expect(texts.find([1, 2, 3])).toBeNull();
    expect(texts.find([109, 110, 111])).not.toBeNull();
  });
});
