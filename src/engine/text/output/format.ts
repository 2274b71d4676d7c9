// Data types that describe how models write reasoning and tool calls. One parser and one grammar builder read
// the tables of these types; a new model family is a new entry, and needs new code only if its syntax is new.

/** A call written as a JSON object. */
export interface JsonBody {
  kind: 'json';
  /** Name of a member with the number of the call, before the function's name. */
  id?: string;
  /** Name of the member with the function's name; null: the object has one member, function name to arguments. */
  name: string | null;
  /** Names of members that may have the arguments. Grammars write the first. */
  arguments: readonly string[];
}

/** A call written as the function's name, a separator, and the arguments as JSON. */
export interface NamedBody {
  kind: 'named';
  before?: string;
  /** Separator with the space that grammars write around it. The parser accepts any space there and before `after`. */
  separator: string;
  /** Marker of an optional call id between name and separator. */
  aside?: string;
  /** Whether the separator may be missing if the arguments directly follow the name. */
  mayLackSeparator?: boolean;
  after?: string;
}

/** Tags around the name and the arguments of a call. */
interface CallTags {
  kind: 'tagged';
  /** `otherBegins`: texts that a model may write in place of `begin`; `number`: text around the call's number, after `end`. */
  name: { begin: string; otherBegins?: readonly string[]; end: string; number?: Tags };
  /** In names and keys `&` and quotes are written as entities. */
  entities?: boolean;
  /** Tag after the last argument. */
  close?: string;
}

/** A call with tags around each argument; the tool's schema gives the argument's type. */
export interface TaggedBody extends CallTags {
  nested?: undefined;
  key: { begin: string; otherBegins?: readonly string[]; end: string };
  /** Opening tags of a value. `reads`: the value is typed by the schema, is text, or is JSON. */
  value: {
    begins: readonly { text: string; reads: 'schema' | 'text' | 'json'; end?: string }[];
    /** Closing tag of values whose opening tag has no own `end`. */
    end: string;
  };
  /** Each value is written, or may be, between two line breaks that are not part of it. */
  newlines?: boolean | 'may';
  /** A value without end tag ends at the next key or at the end of the call; a key without end tag ends at the line's end. */
  mayLackEnds?: boolean;
}

/** A call whose arguments are elements named after them, in which objects and lists are elements, too (see element-values.ts). */
export interface NestedBody extends CallTags {
  nested: NestedValues;
  close: string;
}

export interface NestedValues {
  /** Text before each tag of an element. */
  mark: string;
  /** Name of the elements of a list. */
  item: string;
}

/** A call written as `name(key=value, …)` with Python literals. */
export interface PythonBody {
  kind: 'python';
}

/** A call written as `name{key:value, …}` with unquoted keys; strings stand between two `quote` markers. */
export interface BracesBody {
  kind: 'braces';
  before: string;
  /** Text that a model may write in place of `before`. */
  otherBefore?: string;
  quote: string;
}

export type Body = JsonBody | NamedBody | TaggedBody | NestedBody | PythonBody | BracesBody;

export interface Tags {
  begin: string;
  end: string;
}

export interface ToolFormat {
  name: string;
  /** Tags around all calls. */
  section?: Tags;
  /** Models are known to write what the section contains once more after its end. */
  echoes?: boolean;
  /** Other tags around all calls that are read, but never written by a grammar. */
  otherSections?: readonly Tags[];
  /** Tags around each call. */
  call?: { begin: string; end: string };
  /** Whether calls may or must be written as a list in square brackets, separated by commas. */
  list?: 'may' | 'must';
  /** Separators between calls without brackets. Grammars write the first. */
  separators?: readonly string[];
  /**
   * Characters with which a call may begin without a marker, at the very start of a reply. This text is a
   * call only if it names a known tool.
   */
  bare?: string;
  /** Grammars write the section's tags although the format has `bare`. */
  marked?: boolean;
  /** Syntaxes of a call. Grammars write the first; the parser selects by the first character. */
  bodies: readonly Body[];
  /** Whether a bare call may also begin after other text; the first member of a JSON object must then be one that calls have. */
  anywhere?: boolean;
  /** Length of the ids that calls are given, in letters and digits; left out: the ids of OpenAI. */
  idLength?: number;
  /** The name in the text is a call id: `functions.NAME:INDEX`. */
  namesAreIds?: boolean;
  /** Whether grammars write line breaks between markers, as in the model's training data. */
  lineBreaks?: boolean;
}

export interface ReasoningFormat {
  name: string;
  begin: string;
  end: string;
  /** Other spellings of the tags that the parser accepts. */
  others?: readonly Tags[];
  /** Text between the end tag and the answer. */
  gap?: string;
  /** The reply begins within the reasoning, unless the prompt has closed it. */
  always?: boolean;
  /** A tool call ends the reasoning, too. */
  callsEnd?: boolean;
  /** Reasoning may occur again after content. */
  repeats?: boolean;
  /** Reasoning is part of the content, preceded by the opening tag from the prompt. */
  joined?: boolean;
  /** Name of a template variable. If it is true, reasoning without an answer is returned as the answer. */
  fills?: string;
  /** Tags around the answer. */
  answer?: { begin: string; end: string };
  /** Other tags that are not part of the answer. */
  dropped?: readonly string[];
  /** Tag of a message, with which the prompt ends; text between it and the next tag is not part of the answer. */
  header?: string;
}

/** Replies that consist of messages with headers. Channel and recipient in the header give the kind of a message. */
export interface ChannelFormat {
  name: string;
  start: string;
  channel: string;
  constrain: string;
  message: string;
  end: string;
  /** Other tags that end a message: after a call, and after the last answer. */
  ends: readonly string[];
  reasoning: string;
  answer: string;
  calls: string;
  /** Prefix of the tools' names in a recipient. */
  namespace: string;
}

/** The formats of a model's output. `channels` replaces `tools` and `reasoning`, which are then null. */
export interface OutputFormat {
  tools: ToolFormat | null;
  reasoning: ReasoningFormat | null;
  channels: ChannelFormat | null;
}

/** `closed`: the prompt ends after the reasoning; `answer`: it ends within the answer; `undecided`: the reply may begin with reasoning. */
export type Begins = 'reasoning' | 'closed' | 'answer' | 'undecided';
