// Patterns of libraries with look-ahead inside the pattern, each with an equivalent pattern without it.

const CLOCK = '(?:\\d+H(?:\\d+M)?(?:SECONDS)?|\\d+M(?:SECONDS)?|SECONDS)'.replaceAll(
  'SECONDS',
  '\\d+(?:[.,]\\d+)?S',
);

const EQUIVALENT: Record<string, string> = {
  // zod 4, z.iso.duration(): weeks alone, or at least one of the other parts, and of those after T.
  '^P(?:(\\d+W)|(?!.*W)(?=\\d|T\\d)(\\d+Y)?(\\d+M)?(\\d+D)?(T(?=\\d)(\\d+H)?(\\d+M)?(\\d+([.,]\\d+)?S)?)?)$': `^P(?:\\d+W|(?:\\d+Y(?:\\d+M)?(?:\\d+D)?|\\d+M(?:\\d+D)?|\\d+D)(?:T${CLOCK})?|T${CLOCK})$`,
  // zod 4, z.iban(): check digits are 02 to 98.
  '^[A-Z]{2}(?!00|01|99)\\d{2}[A-Z0-9]{11,30}$': '^[A-Z]{2}(?:0[2-9]|[1-8]\\d|9[0-8])[A-Z0-9]{11,30}$',
};

/** The pattern, or an equivalent one that the parser supports. */
export function readablePattern(pattern: string): string {
  return Object.hasOwn(EQUIVALENT, pattern) ? EQUIVALENT[pattern]! : pattern;
}
