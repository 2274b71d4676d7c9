// The escapes of a string literal, as Python's unicode-escape decoder reads them. Unknown ones stay as they are.

import { TemplateFailure } from '../values/failure.ts';

const ESCAPE = /\\(?:x([\da-fA-F]{0,2})|u([\da-fA-F]{0,4})|U([\da-fA-F]{0,8})|([0-7]{1,3})|([\s\S]))/g;
const LETTERS: Readonly<Record<string, string>> = {
  a: '\x07',
  b: '\b',
  f: '\f',
  n: '\n',
  r: '\r',
  t: '\t',
  v: '\v',
  '\\': '\\',
  "'": "'",
  '"': '"',
  '\n': '',
};

/** `line`: for messages. */
export function unescapeText(text: string, line: number): string {
  if (!text.includes('\\')) return text;
  const hex = (digits: string, wanted: number, name: string): string => {
    const code = parseInt(digits, 16);
    if (digits.length < wanted) throw refusal(`truncated \\${name} escape`, line);
    if (code > 0x10ffff) throw refusal('illegal Unicode character', line);
    return String.fromCodePoint(code);
  };
  return text.replace(ESCAPE, (whole: string, ...groups: (string | undefined)[]) => {
    const [x, u, U, octal, letter] = groups;
    const kind = whole[1];
    if (kind === 'x') return hex(x ?? '', 2, 'xXX');
    if (kind === 'u') return hex(u ?? '', 4, 'uXXXX');
    if (kind === 'U') return hex(U ?? '', 8, 'UXXXXXXXX');
    if (octal !== undefined) return String.fromCodePoint(parseInt(octal, 8));
    if (letter === 'N') throw refusal('\\N escapes are not supported', line);
    return LETTERS[letter ?? ''] ?? whole;
  });
}

function refusal(message: string, line: number): TemplateFailure {
  return new TemplateFailure('TemplateSyntaxError', `${message} (line ${line})`);
}
