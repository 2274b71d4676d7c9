// Messages that name settings. A message is a list of pieces; the name of an option or of a field is a piece of its own, so that each
// interface can write the name by which its user knows it: `minP` in a program, --min-p on a command line, min_p in a request.

export type MessagePart =
  | string
  /** An option that models are opened with. */
  | { readonly option: string }
  /** A field of a request, or a path into one. `subject`: the message is about it. */
  | { readonly field: string; readonly subject?: true }
  /** What to do, as one says it of a program and of a command line. */
  | { readonly program: string; readonly command: string };

export interface Message {
  readonly parts: readonly MessagePart[];
  /** Something that was asked for is not done so. */
  readonly isWarning?: true;
}

/** A text that may name settings. */
export type Prose = string | Message;

/** The names of an interface; undefined: the interface has no name of its own. */
export interface Names {
  option?(name: string): string | undefined;
  field?(path: string): string | undefined;
  /** The user types commands. */
  isCommandLine?: true;
}

export const option = (name: string): MessagePart => ({ option: name });

export const field = (path: string): MessagePart => ({ field: path });

export const subject = (path: string): MessagePart => ({ field: path, subject: true });

export const way = (program: string, command: string): MessagePart => ({ program, command });

/** say`raise ${option('memoryBudget')}`: a message, of texts, numbers, names and other messages. */
export function say(
  texts: TemplateStringsArray,
  ...values: readonly (string | number | MessagePart | Message)[]
): Message {
  const parts = texts.flatMap((text, at): readonly MessagePart[] => {
    const value = values[at];
    if (value === undefined) return [text];
    if (typeof value === 'object' && 'parts' in value) return [text, ...value.parts];
    return [text, typeof value === 'number' ? String(value) : value];
  });
  return { parts: parts.filter((part) => part !== '') };
}

/** The pieces of a message; one that begins with the parameter it is about has that as its subject. */
export function partsOf(message: Prose, param: string | null = null): readonly MessagePart[] {
  if (typeof message !== 'string') return message.parts;
  const isSubject = param !== null && [' ', ':'].some((after) => message.startsWith(`${param}${after}`));
  if (!isSubject) return [message];
  return [subject(param), message.slice(param.length)];
}

/** A message as text. Names that `names` does not have are the library's own, between backticks unless they are the subject. */
export function textOf(message: Prose, names: Names = {}): string {
  return partsOf(message)
    .map((part) => {
      if (typeof part === 'string') return part;
      if ('program' in part) return names.isCommandLine ? part.command : part.program;
      if ('option' in part) return names.option?.(part.option) ?? `\`${part.option}\``;
      return names.field?.(part.field) ?? (part.subject ? part.field : `\`${part.field}\``);
    })
    .join('');
}

export const warning = ({ parts }: Message): Message => ({ parts, isWarning: true });

/** A note in an event: its text with the library's names, and its pieces if some of them are names. */
export interface Note {
  type: 'note';
  message: string;
  parts?: readonly MessagePart[];
  /** Something that was asked for is not done so. */
  isWarning?: true;
}

export function noteOf(message: Prose): Note {
  if (typeof message === 'string') return { type: 'note', message };
  const { parts, isWarning } = message;
  return { type: 'note', message: textOf(message), parts, ...(isWarning && { isWarning }) };
}

/** A message with the paths of another interface in place of its fields; null: that one has the same. */
export function withPaths(message: Message, pathOf: (path: string) => string | null): Message {
  const parts = message.parts.map((part): MessagePart => {
    const path = typeof part === 'object' && 'field' in part ? pathOf(part.field) : null;
    return path === null ? part : { ...(part as { field: string }), field: path };
  });
  return { parts };
}
