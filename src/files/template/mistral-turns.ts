// Conversations in the order that Mistral's models know: neighbours of one role are one message, neighbouring texts one text, and results
// follow the order of their calls. Source: the normalizers of mistral-common.

import type { JsonSource } from './jinja/values/from-json.ts';

export interface MistralPart {
  type: string;
  text?: string;
}

export interface MistralCall {
  id?: string;
  function: { name: string; arguments?: string | JsonSource };
}

/** A message whose content is parts. */
export interface MistralMessage {
  role: string;
  content?: readonly MistralPart[] | null;
  reasoning_content?: string | null;
  tool_calls?: readonly MistralCall[] | null;
  tool_call_id?: string | null;
}

/** Members of other roles are empty. */
export interface MistralTurn {
  role: string;
  /** Texts, never two of them neighbours, and parts of other types. Reasoning is a part of type `thinking`. */
  parts: MistralPart[];
  calls: MistralCall[];
  callId: string;
}

interface TurnRules {
  /** Between neighbouring texts of one message. */
  between: string;
  /** Whether results are put in the order of their calls. */
  ordersResults: boolean;
}

/** Between texts of neighbouring messages. */
export const PARAGRAPH = '\n\n';

export function turnsOf(messages: readonly MistralMessage[], rules: TurnRules): MistralTurn[] {
  const turns: MistralTurn[] = [];
  /** Ids of the calls that wait for results. */
  let calls: string[] = [];
  for (let at = 0; at < messages.length;) {
    const { role } = messages[at]!;
    const from = at;
    while (at < messages.length && messages[at]!.role === role) at++;
    const group = messages.slice(from, at);
    if (role === 'user' || role === 'assistant') {
      const turn = joined(role, group, rules.between);
      turns.push(turn);
      calls.push(...turn.calls.map(({ id = '' }) => id));
      continue;
    }
    const own = group.map((message) => joined(role, [message], rules.between));
    turns.push(...(role === 'tool' && rules.ordersResults ? inOrder(own, calls) : own));
    if (role === 'tool') calls = [];
  }
  return turns;
}

function joined(role: string, messages: readonly MistralMessage[], between: string): MistralTurn {
  const parts: MistralPart[] = [];
  for (const { content, reasoning_content: reasoning } of messages) {
    if (reasoning) parts.push({ type: 'thinking', text: reasoning });
    let separator = PARAGRAPH;
    for (const part of content ?? []) {
      if (part.type === 'text' && !part.text) continue;
      const last = parts.at(-1);
      if (part.type === 'text' && last?.type === 'text') last.text += separator + part.text!;
      else parts.push({ ...part });
      separator = between;
    }
  }
  return {
    role,
    parts,
    calls: messages.flatMap(({ tool_calls: calls }) => calls ?? []),
    callId: messages[0]?.tool_call_id ?? '',
  };
}

/** Results of calls that are not there come last. */
function inOrder(results: readonly MistralTurn[], calls: readonly string[]): MistralTurn[] {
  const place = ({ callId }: MistralTurn): number => {
    const found = calls.lastIndexOf(callId);
    return found < 0 ? calls.length : found;
  };
  return results.toSorted((a, b) => place(a) - place(b));
}
