// How models write what is not plain text: reasoning and tool calls, as data. One parser and one grammar builder read
// these tables; a model family that is not in them yet is a new entry, and code only where its syntax is new.

/** A call written as a JSON object. */
export interface JsonBody {
  kind: 'json';
  /** Member with a number for the call, before its name. */
  id?: string;
  /** Member with the function's name; null: the only member's key is the name and its value the arguments. */
  name: string | null;
  /** Members that may hold the arguments; the first is what grammars write. */
  arguments: readonly string[];
}

/** NAME, a separator, the arguments as JSON. */
export interface NamedBody {
  kind: 'named';
  before?: string;
  /** Space around it, and before `after`, is what grammars write; other space is read as well. */
  separator: string;
  /** Begins an optional part between name and separator, which extends to the separator: a call id. */
  aside?: string;
  /** The separator may be left out where the arguments follow the name at once. */
  mayLackSeparator?: boolean;
  after?: string;
}

/** Each argument in tags of its own, typed by the tool's schema. */
export interface TaggedBody {
  kind: 'tagged';
  name: { begin: string; end: string };
  key: { begin: string; end: string };
  /** Texts that begin a value, and how the value is read: by the schema, as text, or as JSON. */
  value: {
    begins: readonly { text: string; reads: 'schema' | 'text' | 'json'; end?: string }[];
    /** Unless what opens it has an end of its own. */
    end: string;
  };
  /** After the last argument. */
  close?: string;
  /** A line break of its own stands at both ends of each value. */
  newlines?: boolean;
  /** A value without its end tag ends before the next key and where the call does; a key without its end at the line's. */
  mayLackEnds?: boolean;
}

/** `name(key=value, …)` with Python's literals. */
export interface PythonBody {
  kind: 'python';
}

/** `name{key:value, …}`: bare keys, strings in quotes of their own. */
export interface BracesBody {
  kind: 'braces';
  before: string;
  quote: string;
}

export type Body = JsonBody | NamedBody | TaggedBody | PythonBody | BracesBody;

export interface Tags {
  begin: string;
  end: string;
}

export interface ToolFormat {
  name: string;
  /** Around all calls. */
  section?: Tags;
  /** Other tags around all calls that are read, but never written by a grammar. */
  otherSections?: readonly Tags[];
  /** Around each call. */
  call?: { begin: string; end: string };
  /** Calls stand in brackets, with commas between, or may. */
  list?: 'may' | 'must';
  /** Between calls without brackets. */
  separators?: readonly string[];
  /**
   * Without any marker a call may begin with one of these characters, at the very start of a reply. Such a text is a
   * call only where it names a known tool.
   */
  bare?: string;
  /** A grammar writes the section's tags all the same. */
  marked?: boolean;
  /** A grammar writes the first; the parser takes the one that begins as the text does. */
  bodies: readonly Body[];
  /** The name in the text is an id: `functions.NAME:INDEX`. */
  namesAreIds?: boolean;
  /** A grammar writes line breaks between markers, as the model was trained to. */
  lineBreaks?: boolean;
}

export interface ReasoningFormat {
  name: string;
  begin: string;
  end: string;
  /** Other spellings of the tags, which are read too. */
  others?: readonly Tags[];
  /** Text that the model writes between the end tag and its answer. */
  gap?: string;
  /** The reply begins inside, wherever the prompt has not closed the reasoning itself. */
  always?: boolean;
  /** A tool call ends it too. */
  callsEnd?: boolean;
  /** May come again in mid-reply. */
  repeats?: boolean;
  /** It is content, behind its opening tag, which the prompt has. */
  joined?: boolean;
  /** A variable of the template: where it is true, reasoning without an answer is the answer. */
  fills?: string;
  /** Around the answer. */
  answer?: { begin: string; end: string };
}

/** Messages with headers: what each is, its channel and recipient say. */
export interface ChannelFormat {
  name: string;
  start: string;
  channel: string;
  constrain: string;
  message: string;
  end: string;
  /** Ends a message too: a call, the last answer. */
  ends: readonly string[];
  reasoning: string;
  answer: string;
  calls: string;
  /** Before the names of the request's tools. */
  namespace: string;
}

/** The formats of a model's output. `channels` replaces both others. */
export interface OutputFormat {
  tools: ToolFormat | null;
  reasoning: ReasoningFormat | null;
  channels: ChannelFormat | null;
}
