// A call in the output of a response, in the form of the tool that the client sent: a function call, a custom tool call, or a tool
// search call. The text for a free-form tool is read from the JSON that a model writes for it, {"input": "…"}, while the JSON streams.

import type { OfferedTool } from './response-tools.ts';

type ToolKind = OfferedTool['kind'];

interface Form {
  type: string;
  /** Prefix of the ids of such items. */
  prefix: string;
  /** Stem of the names of the item's events; null: no event reports its input. */
  events: string | null;
}

const CALL_FORMS: Record<ToolKind, Form> = {
  function: { type: 'function_call', prefix: 'fc', events: 'function_call_arguments' },
  custom: { type: 'custom_tool_call', prefix: 'ctc', events: 'custom_tool_call_input' },
  tool_search: { type: 'tool_search_call', prefix: 'tsc', events: null },
};

export interface CallItem {
  form: Form;
  /** Adds JSON of the arguments; returns the part of the input to send. */
  add(json: string): string;
  /** Returns the rest of the input to send, once the call is complete. */
  end(): string;
  /** Members of the item other than its id and status; `text` is its input so far. */
  members(text: string, isDone: boolean): object;
  /** Members of the item's last event. */
  done(text: string): object;
}

/** Returns the item of a call. A tool that the request did not define is treated as a function. */
export function callItem(callId: string, name: string, offered: readonly OfferedTool[]): CallItem {
  const { kind, called } = offered.find(({ definition }) => definition.name === name) ?? {
    kind: 'function',
    called: { name },
  };
  const form = CALL_FORMS[kind];
  const common = { call_id: callId, ...called };
  if (kind === 'custom') {
    const reader = createInputReader();
    return {
      form,
      add: (json) => reader.read(json),
      end: () => reader.end(),
      members: (input) => ({ ...common, input }),
      done: (input) => ({ input }),
    };
  }
  const plain = { form, add: (json: string) => json, end: () => '' };
  if (kind === 'function')
    return {
      ...plain,
      members: (text) => ({ ...common, arguments: text }),
      done: (text) => ({ name: called.name, arguments: text }),
    };
  return {
    ...plain,
    members: (text, isDone) => ({
      call_id: callId,
      execution: 'client',
      arguments: isDone ? parsed(text) : {},
    }),
    done: () => ({}),
  };
}

/** Parses the arguments; returns the text itself if the response ended within them. */
function parsed(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch {
    return json;
  }
}

const BEGIN = /^\s*\{\s*"input"\s*:\s*"/;
/** Matches complete characters and escapes. */
const WHOLE = /^(?:[^"\\]+|\\u[\da-fA-F]{4}|\\[^u])*/;

export interface InputReader {
  /** Adds JSON text; returns the part of the input that became known. */
  read(json: string): string;
  /** Returns the rest of the input; the whole JSON text if it does not have the form {"input": "…"}. */
  end(): string;
}

export function createInputReader(): InputReader {
  let pending = '';
  let isWithin = false;
  /** The first half of a surrogate pair whose second half has not arrived. */
  let half = '';
  return {
    read(json) {
      pending += json;
      if (!isWithin) {
        const begin = BEGIN.exec(pending);
        if (!begin) return '';
        isWithin = true;
        pending = pending.slice(begin[0].length);
      }
      const [whole] = WHOLE.exec(pending)!;
      pending = pending.slice(whole.length);
      const text = half + unescaped(whole);
      half = /[\ud800-\udbff]$/.exec(text)?.[0] ?? '';
      return half === '' ? text : text.slice(0, -1);
    },
    end: () => (isWithin ? '' : pending),
  };
}

function unescaped(text: string): string {
  const literal = text.replaceAll('\n', '\\n').replaceAll('\r', '\\r').replaceAll('\t', '\\t');
  try {
    return JSON.parse(`"${literal}"`) as string;
  } catch {
    return text;
  }
}
