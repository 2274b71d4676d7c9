// How the texts of Wan are cleaned before they are tokenized.

import { expect, it } from 'vitest';
import { cleanText } from '../../../../../src/engine/image/families/wan/wan-texts.ts';

it.each([
  ['  a cat \n\t and  a dog ', 'a cat and a dog'],
  ['salt &amp;amp; pepper', 'salt & pepper'],
  ['&lt;b&gt;, &#233;, &#x2014;, &nbsp;', '<b>, é, —,'],
  ['R&D; &nothing; &#0; &#x110000;', 'R&D; &nothing; &#0; &#x110000;'],
])('%j is read as %j', (text, cleaned) => {
  expect(cleanText(text)).toBe(cleaned);
});
