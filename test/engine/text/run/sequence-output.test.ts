import { describe, expect, it } from 'vitest';
import type { Piece } from '../../../../src/engine/text/calls/piece.ts';
import { stopPattern, type StopAutomata } from '../../../../src/grammar/stops/stop-automaton.ts';
import { stopTables } from '../../../../src/grammar/stops/stop-table.ts';
import { stopText } from '../../../../src/grammar/stops/stop-text.ts';
import {
  createStopMatcher,
  textOf,
  type StopMatcher,
} from '../../../../src/engine/text/run/sequence-output.ts';
import { randomInteger, randomOf } from '../../random.ts';

function expression(pattern: string): StopAutomata {
  return stopPattern(stopTables([pattern])[0]!, 'stopRegex.0');
}

/** Creates a matcher for stop strings, and for expressions written as /expression/. */
function matcherOf(stops: readonly string[], keep = false): StopMatcher {
  const begin = (stop: string) =>
    (/^\/.*\/$/s.test(stop) ? expression(stop.slice(1, -1)) : stopText(stop)).begin();
  return createStopMatcher({ stops: stops.map(begin), keep });
}

const piece = (text: string, id: number | null = 1): Piece => ({ id, text, special: false });

/** All ways to divide a text into pieces. */
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

function run(pieces: string[], stops: string[], keep = false): { text: string; matched: string | null } {
  const matcher = matcherOf(stops, keep);
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
      const matcher = matcherOf(stops);
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

  it('may be of any length', () => {
    const stop = `${'ab'.repeat(50_000)}c`;
    expect(run([`x${'ab'.repeat(30_000)}`, `${'ab'.repeat(30_000)}c`], [stop])).toEqual({
      text: `x${'ab'.repeat(10_000)}`,
      matched: stop,
    });
  });

  it('pass everything where there are none', () => {
    const matcher = matcherOf([]);
    expect(matcher.push(piece('anything'))).toEqual({ pieces: [piece('anything')], matched: null });
    expect(matcher.flush()).toEqual([]);
  });

  it('give back what was held when nothing follows', () => {
    const matcher = matcherOf(['</end>']);
    expect(matcher.push(piece('text</en'))).toEqual({ pieces: [piece('text')], matched: null });
    expect(matcher.flush()).toEqual([piece('</en', null)]);
    expect(matcher.flush()).toEqual([]);
  });
});

/** Result of a search that tries every position: the first end, then the first start. */
function searched(text: string, patterns: string[], keep: boolean): { text: string; matched: string | null } {
  for (let end = 1; end <= text.length; end++) {
    for (let at = 0; at < end; at++) {
      const matched = patterns.find((pattern) => {
        const whole = new RegExp(`(?<=^[^]{${at}})(?:${pattern})$`, 'u');
        return whole.test(text.slice(0, end));
      });
      if (matched !== undefined) return { text: text.slice(0, keep ? end : at), matched };
    }
  }
  return { text, matched: null };
}

describe('stop expressions', () => {
  const cases: [pattern: string, text: string][] = [
    ['b+c', 'aabbbcd'],
    ['and|or', 'this or that and'],
    ['[.!?]\\s*$', 'Wait. What?'],
    ['^ab', 'xab'],
    ['^ab', 'abc'],
    ['\\d{2,3}-\\d', 'a1 12-3'],
    ['\\bfoo', 'xfoo foo'],
    ['(?:a|ab)(?:c|bcd)', 'abcd'],
    ['a.*z', 'an az'],
    ['(x+x+)+y', 'xxxxxy'],
    ['😀.', 'a😀b'],
    ['\\n\\n', 'a\nb\n\nc'],
    ['never', 'abcnev'],
  ];
  it.each(cases)('%j in %j ends the text where a search would, however it is cut', (pattern, text) => {
    for (const keep of [false, true]) {
      const wanted = searched(text, [pattern], keep);
      const characters = Array.from(text);
      for (let cuts = 0; cuts < Math.min(2 ** (characters.length - 1), 512); cuts++) {
        const pieces: string[] = [''];
        characters.forEach((character, i) => {
          pieces[pieces.length - 1] += character;
          if ((cuts >> i) & 1) pieces.push('');
        });
        expect(run(pieces, [`/${pattern}/`], keep), pieces.join('|')).toEqual(wanted);
      }
    }
  });

  it('hold back what may still become one, and nothing else', () => {
    const matcher = matcherOf(['/a\\d+b/']);
    const sent = ['xa', '1', '2c', 'a', 'a7', '!'].map((text) => textOf(matcher.push(piece(text)).pieces));
    expect(sent).toEqual(['x', '', 'a12c', '', 'a', 'a7!']);
  });

  it('take time in proportion to the text, whatever the pattern', () => {
    const matcher = matcherOf(['/(a+)+$b/', '/(a|aa)+c/', '/(.*)(.*)(.*)(.*)d/']);
    const time = (characters: number): number => {
      const { user } = process.cpuUsage();
      for (let i = 0; i < characters; i++) matcher.push(piece('a'));
      return process.cpuUsage().user - user;
    };
    time(2_000);
    const early = time(10_000);
    time(20_000);
    // The cost per character must not grow from 2,000 to 32,000 characters; a matcher that searches backwards would take four times
    // as long.
    expect(time(10_000)).toBeLessThan(3 * early + 50_000);
  });

  it.each([
    ['(', 'not closed'],
    ['a*', 'empty text'],
    ['$', 'empty text'],
    ['^(?=a)b', 'look-ahead'],
    ['(a)\\1', 'back-reference'],
    ['(?:a{90}){90}', 'places'],
  ])('%j is refused: %s', (pattern, message) => {
    expect(() => expression(pattern)).toThrow(message);
  });
});

it('a stop string that becomes complete too early is text like any other', () => {
  const matcher = matcherOf(['end', '/\\d+/', 'xend!']);
  expect(textOf(matcher.push(piece('an end 12 xend'), false).pieces)).toBe('an end 12 ');
  const { pieces, matched } = matcher.push(piece('s 3 end'));
  expect([textOf(pieces), matched]).toEqual(['xends ', '\\d+']);
});

it('tokens of a stop are reported without text; a token that is cut keeps the text before it', () => {
  const matcher = matcherOf(['STOP']);
  const released = ['one S', 'TO', 'P two'].flatMap((text, id) => matcher.push(piece(text, id)).pieces);
  expect(released).toEqual([piece('one ', 0), piece('', 1), piece('', 2)]);
  const kept = matcherOf(['STOP'], true);
  const all = ['one S', 'TO', 'P two'].flatMap((text, id) => kept.push(piece(text, id)).pieces);
  expect(all).toEqual([piece('one ', 0), piece('S', null), piece('TO', 1), piece('P', 2)]);
});
