// A regular expression as Python and Rust write it, as the engine reads it: by JavaScript's rules. What means something else there
// is translated; what only one of them has would be enforced as another expression without a word, and is refused.

/** Throws the error that the expression's place gets. */
export type Refuse = (what: string) => never;

const PARTS = /\\b\{|\\.|\[(?<not>\^?)(?<bracket>\]?)(?<members>(?:\\.|[^\]\\])*)\]|\{,(?=\d+\})|\./gsu;
/** Rust nests classes and computes with them, Python takes these for characters. */
const SET_SYNTAX = /\[|&&|--|~~/;

/** A point stands for all but line feeds; with `isAll` for all there is. */
export function fromPython(pattern: string, refuse: Refuse, isAll = false): string {
  const dot = isAll ? '[^]' : '[^\\n]';
  return pattern.replace(PARTS, (part: string, ...rest: unknown[]) => {
    if (part === '.') return dot;
    if (part === '{,') return '{0,';
    if (part === '\\b{') return refuse('has an expression with \\b{, which is not read; write \\b');
    if (!part.startsWith('[')) return part;
    const { not, bracket, members } = rest.at(-1) as Record<'not' | 'bracket' | 'members', string>;
    if (bracket + members === '') return refuse(`has an expression with ${part}, which is not closed; add ]`);
    const found = SET_SYNTAX.exec(members.replace(/\\./gsu, 'x'))?.[0];
    if (found !== undefined)
      refuse(
        `has an expression with ${found} in a class, which is not read; escape what stands for itself with \\`,
      );
    return `[${not}${bracket && '\\]'}${members}]`;
  });
}
