// A call in the output of a response, as its client knows the tool: a function's, a free-form one's, or a search for tools.

import { createInputReader } from './custom-input.ts';
import type { OfferedTool } from './response-tools.ts';

type ToolKind = OfferedTool['kind'];

interface Form {
  type: string;
  /** Prefix of the ids of its items. */
  prefix: string;
  /** Stem of the names of its events; null: no event reports its input. */
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
  /** Members of the item beside its id and status; `text`: its input so far. */
  members(text: string, isDone: boolean): object;
  /** Members of its last event. */
  done(text: string): object;
}

/** A tool nobody sent is a function. */
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

/** The arguments, or their text if the response ended within them. */
function parsed(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch {
    return json;
  }
}
