// A stop string as an automaton, by Knuth, Morris and Pratt: its only state is how long a prefix of the stop the text ends with.

import type { StopAutomata, StopAutomaton } from './stop-automaton.ts';

export function stopText(stop: string): StopAutomata {
  const codes = Array.from(stop, (character) => character.codePointAt(0)!);
  const borders = bordersOf(codes);
  /** [characters + 1]: UTF-16 units of the first characters. */
  const units = [0];
  for (const code of codes) units.push(units.at(-1)! + unitsOf(code));
  return { begin: () => automaton(stop, codes, borders, units) };
}

function automaton(
  stop: string,
  codes: readonly number[],
  borders: readonly number[],
  units: readonly number[],
): StopAutomaton {
  let at = 0;
  /** Length of the longest prefix of the stop that the text ends with. */
  let known = 0;
  /** Length of the longest such prefix that is not the whole stop. */
  const partial = (): number => (known === codes.length ? borders[known]! : known);
  return {
    stop,
    step(code) {
      known = partial();
      while (known > 0 && codes[known] !== code) known = borders[known]!;
      if (codes[known] === code) known++;
      at += unitsOf(code);
      return known === codes.length ? at - stop.length : -1;
    },
    get open() {
      const length = units[partial()]!;
      return length === 0 ? Infinity : at - length;
    },
  };
}

/** [n]: length of the longest border of the first n characters: a proper prefix that is also a suffix. */
function bordersOf(codes: readonly number[]): number[] {
  const borders = [0, 0];
  for (let n = 1; n < codes.length; n++) {
    let border = borders[n]!;
    while (border > 0 && codes[border] !== codes[n]) border = borders[border]!;
    borders.push(codes[border] === codes[n] ? border + 1 : 0);
  }
  return borders;
}

function unitsOf(code: number): number {
  return code > 0xffff ? 2 : 1;
}
