// Determines whether a reply begins within reasoning, within an answer, or before both. This follows from the end of the rendered
// prompt, to which a message to continue is appended.

import { EngineError } from '../../../files/error.ts';
import type { ChatRendering } from '../../../files/template/template.ts';
import type { ChatMessage, TextPrompt } from '../calls/text-model.ts';
import { writeCalls } from './call-text.ts';
import type { ReasoningFormat, ToolFormat } from './format.ts';

/** `closed`: the prompt ends after the reasoning; `answer`: it ends within the answer; `undecided`: the reply may begin with reasoning. */
export type Begins = 'reasoning' | 'closed' | 'answer' | 'undecided';

export interface Rendered {
  text: string;
  begins: Begins;
  /** Text of the answer that is part of the prompt; '' if the answer has not begun. */
  said: string;
}

type Conversation = Extract<TextPrompt, { messages: ChatMessage[] }>;

/** Renders a conversation. `render`: applies the chat template. Throws bad_request for a message that cannot be continued. */
export async function renderConversation(
  { messages, tools: shown, templateKwargs, continueFinal }: Conversation,
  render: (rendering: ChatRendering) => string | Promise<string>,
  thinking: ReasoningFormat | null,
  tools: ToolFormat | null = null,
): Promise<Rendered> {
  const last = continueFinal ? finalMessage(messages) : null;
  const text = await render({
    messages: last === null ? messages : messages.slice(0, -1),
    ...(shown ? { tools: shown } : {}),
    ...(templateKwargs ? { kwargs: templateKwargs } : {}),
    callText: (calls) => writeCalls(calls, tools),
  });
  const begins = beginsAfter(text, thinking);
  return last === null ? { text, begins, said: '' } : continued({ text, begins }, last, thinking);
}

export function beginsAfter(prompt: string, thinking: ReasoningFormat | null): Begins {
  if (thinking === null) return 'undecided';
  const end = prompt.trimEnd();
  if (end.endsWith(thinking.begin.trimEnd())) return 'reasoning';
  if (end.endsWith(thinking.end.trimEnd())) return 'closed';
  return thinking.always ? 'reasoning' : 'undecided';
}

function finalMessage(messages: readonly ChatMessage[]): { content: string; reasoning: string } {
  const last = messages.at(-1);
  const place = `messages.${messages.length - 1}`;
  const refuse = (param: string, wanted: string): never => {
    throw new EngineError('bad_request', `continueFinal goes on with the last message: ${wanted}`, { param });
  };
  if (last?.role !== 'assistant') return refuse(`${place}.role`, "it must be the assistant's");
  if (last.tool_calls?.length) return refuse(`${place}.tool_calls`, 'it must have no tool calls');
  const { content, reasoning_content: reasoning } = last;
  if (content != null && typeof content !== 'string') return refuse(`${place}.content`, 'it must be text');
  return { content: content ?? '', reasoning: reasoning ?? '' };
}

/** The prompt with the unfinished message appended in the model's format. */
function continued(
  { text, begins }: Omit<Rendered, 'said'>,
  { content, reasoning }: { content: string; reasoning: string },
  thinking: ReasoningFormat | null,
): Rendered {
  if (thinking === null || (reasoning === '' && begins !== 'reasoning')) {
    return {
      text: text + (content && (thinking?.answer?.begin ?? '')) + content,
      begins: content === '' ? begins : 'answer',
      said: content,
    };
  }
  const { begin, end, gap = '', answer } = thinking;
  const line = gap.startsWith('\n') ? '\n' : '';
  // A prompt with reasoning switched off ends with closed reasoning, which is removed.
  const closed = text.trimEnd().endsWith(end) ? text.lastIndexOf(begin) : -1;
  const start = closed < 0 ? text : text.slice(0, closed);
  const opened = begins === 'reasoning' && start.trimEnd().endsWith(begin.trimEnd());
  const thought = (opened ? start : start + begin + line) + reasoning;
  if (content === '') return { text: thought, begins: 'reasoning', said: '' };
  const answered = thought + line + end + gap + (answer?.begin ?? '') + content;
  return { text: answered, begins: 'answer', said: content };
}
