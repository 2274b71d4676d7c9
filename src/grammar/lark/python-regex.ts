// Translates regular expressions of Python and Rust to JavaScript's syntax. Constructs with another meaning there are translated;
// constructs that only one of the languages has are refused, since they would silently match other texts.

/** Throws an error that begins with the place of the expression. */
export type Refuse = (what: string) => never;

const PARTS = /\\b\{|\\.|\[(?<not>\^?)(?<bracket>\]?)(?<members>(?:\\.|[^\]\\])*)\]|\{,(?=\d+\})|\./gsu;
/** Set operations and nested classes in Rust; literals in Python. */
const SET_SYNTAX = /\[|&&|--|~~/;

/** A dot matches all characters but line feeds; with `isAll` all characters. */
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
