// Properties of characters against the JavaScript engine, character by character.

import { expect, test } from 'vitest';
import { pairs } from '../../../src/grammar/automata/code-points.ts';
import { unicodeProperty } from '../../../src/grammar/automata/unicode.ts';

test.each(['L', 'Cn', 'Co', 'Any', 'Noncharacter_Code_Point', 'Default_Ignorable_Code_Point', 'Script=Han'])(
  'the Unicode property %s',
  (name) => {
    const one = new RegExp(`\\p{${name}}`, 'u');
    const ranges = pairs(unicodeProperty(name)!);
    let at = 0;
    const wrong: number[] = [];
    for (let code = 0; code < 0x110000; code++) {
      if (code === 0xd800) code = 0xe000;
      while (at < ranges.length && ranges[at]![1] < code) at++;
      const inside = at < ranges.length && ranges[at]![0] <= code;
      if (inside !== one.test(String.fromCodePoint(code))) wrong.push(code);
    }
    expect(wrong).toEqual([]);
  },
);

test('an unknown Unicode property is null', () => {
  expect(unicodeProperty('Nothing')).toBeNull();
  expect(unicodeProperty('}')).toBeNull();
});
