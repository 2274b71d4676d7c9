import { describe, expect, it } from 'vitest';
import type { Piece } from '../../../src/engine/text/piece.ts';
import { createStopMatcher, textOf } from '../../../src/engine/text/stops.ts';
import { randomInteger, randomOf } from '../random.ts';

const piece = (text: string, id: number | null = 1): Piece => ({ id, text, special: false });

/** All ways to cut a text into pieces. */
function* splits(text: string): Generator<string[]> {
  for (let cuts = 0; cuts < 2 ** (text.length - 1); cuts++) {
    const pieces: string[] = [];
    let begin = 0;
    for (let end = 1; end <= text.length; end++) {
      if (end < text.length && !((cuts >> (end - 1)) & 1)) continue;
      pieces.push(text.slice(begin, end));
      begin = end;
    }
    yield pieces;
  }
}

/** The stop that is complete first ends the text; of several complete at once, the one that began first. */
function expected(text: string, stops: string[]): { text: string; matched: string | null } {
  for (let end = 1; end <= text.length; end++) {
    const found = stops.filter((stop) => text.slice(0, end).endsWith(stop));
    const longest = found.reduce<string | null>(
      (best, stop) => (best === null || stop.length > best.length ? stop : best),
      null,
    );
    if (longest !== null) return { text: text.slice(0, end - longest.length), matched: longest };
  }
  return { text, matched: null };
}

function run(pieces: string[], stops: string[]): { text: string; matched: string | null } {
  const matcher = createStopMatcher(stops);
  let text = '';
  for (const given of pieces) {
    const { pieces: released, matched } = matcher.push(piece(given));
    text += textOf(released);
    if (matched !== null) return { text, matched };
  }
  return { text: text + textOf(matcher.flush()), matched: null };
}

describe('stop strings', () => {
  it('end the text at the same place however it is cut into pieces', () => {
    const random = randomInteger(1);
    let matches = 0;
    for (let round = 0; round < 300; round++) {
      const letters = (length: number): string =>
        Array.from({ length }, () => randomOf(random, ['a', 'b', 'c'])).join('');
      const text = letters(1 + random(9));
      const stops = Array.from({ length: random(4) }, () => letters(1 + random(4)));
      const wanted = expected(text, stops);
      if (wanted.matched !== null) matches++;
      for (const pieces of splits(text))
        expect(run(pieces, stops), `${pieces.join('|')} until ${stops.join(' ')}`).toEqual(wanted);
    }
    expect(matches).toBeGreaterThan(100);
  });

  it('hold back the longest tail that may still become one, and nothing else', () => {
    const random = randomInteger(2);
    for (let round = 0; round < 500; round++) {
      const stops = Array.from({ length: 1 + random(3) }, () =>
        Array.from({ length: 1 + random(4) }, () => randomOf(random, ['x', 'y'])).join(''),
      );
      const matcher = createStopMatcher(stops);
      let given = '';
      let sent = '';
      for (let step = 0; step < 12; step++) {
        const next = randomOf(random, ['x', 'y', 'xy', 'z']);
        const { pieces, matched } = matcher.push(piece(next));
        given += next;
        sent += textOf(pieces);
        if (matched !== null) break;
        const tails = Array.from({ length: given.length + 1 }, (_, at) => given.slice(at));
        const held = tails.find((tail) => stops.some((stop) => stop !== tail && stop.startsWith(tail)))!;
        expect(sent, `${given} until ${stops.join(' ')}`).toBe(given.slice(0, given.length - held.length));
      }
    }
  });

  it('pass everything where there are none', () => {
    const matcher = createStopMatcher([]);
    expect(matcher.push(piece('anything'))).toEqual({ pieces: [piece('anything')], matched: null });
    expect(matcher.flush()).toEqual([]);
  });

  it('give back what was held when nothing follows', () => {
    const matcher = createStopMatcher(['</end>']);
    expect(matcher.push(piece('text</en'))).toEqual({ pieces: [piece('text')], matched: null });
    expect(matcher.flush()).toEqual([piece('</en', null)]);
    expect(matcher.flush()).toEqual([]);
  });
});
