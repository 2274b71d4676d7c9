// The prompt of a request as token ids: media are read, the chat template is rendered, texts are tokenized, and a conversation that is too
// long loses its oldest turns if the request allows it. The end of the prompt, to which a message to continue is appended, tells whether the
// reply begins within reasoning, within an answer, or before both.

import { badRequest, EngineError } from '../../../files/error.ts';
import { TemplateLimitError } from '../../../files/template/jinja/values/meter.ts';
import type { ChatRendering } from '../../../files/template/template.ts';
import { checkRows } from '../../../files/tokenizer/token-ids.ts';
import { assertLengths } from '../../../files/tokenizer/tokenizer.ts';
import type { TileLimits } from '../../../models/media.ts';
import { fitTurns, readLastTurns, type ReadTurns } from './turns.ts';
import { expandIds, expandText, placeMedia } from '../media/expand.ts';
import { mediaOf, uselessTiles, withoutBytes, type MediaByPart } from '../media/library.ts';
import type { Medium } from '../towers/medium.ts';
import { LONG_TEXT } from '../threads/text-threads.ts';
import { writeCalls } from '../output/call-text.ts';
import type { Begins, ReasoningFormat, ToolFormat } from '../output/format.ts';
import { thinkingTags } from '../output/reply-plan.ts';
import type { RenderedPrompt, RequestContext } from './request-context.ts';
import type { ChatMessage, TextPrompt } from '../calls/text-model.ts';
import { withOwnLanguage } from './source-language.ts';
import { asSource } from './source-prompt.ts';
import type { SourceSettings } from './source-settings.ts';
import { checkPrompt } from './text-rules.ts';

/** When a prompt is not needed any more. */
export interface PromptEnd {
  signal?: AbortSignal | undefined;
  /** Aborts when the request ends, for whatever reason. */
  ended?: AbortSignal;
}

/** Renders and tokenizes a prompt. `limits`: those of the request. Throws bad_request for an invalid one. */
export async function renderPrompt(
  prompt: TextPrompt,
  context: RequestContext,
  limits: TileLimits = {},
  end: PromptEnd = {},
): Promise<RenderedPrompt> {
  checkPrompt(prompt);
  return context.source
    ? renderSource(prompt, { ...context, source: context.source }, limits, end)
    : renderAsText(prompt, context, limits, end);
}

/** A prompt as a source; an unfinished message of the assistant begins the reply. */
async function renderSource(
  prompt: TextPrompt,
  context: RequestContext & { source: SourceSettings },
  limits: TileLimits,
  end: PromptEnd,
): Promise<RenderedPrompt> {
  const { tokenizer } = context;
  const read = async (one: TextPrompt): Promise<RenderedPrompt> => {
    const text = await renderAsText(one, context, limits, end);
    return 'ids' in one ? text : { ...text, ids: withOwnLanguage(text.ids, tokenizer) };
  };
  if (!('messages' in prompt)) return asSource(await read(prompt), context.source, 'prompt');
  const { continueFinal, messages, ...others } = prompt;
  const last = continueFinal ? finalMessage(messages) : null;
  if (last?.reasoning)
    throw badRequest(
      'encoder-decoder models do not reason: leave it out',
      `messages.${messages.length - 1}.reasoning_content`,
    );
  const sent = last === null ? messages : messages.slice(0, -1);
  const rendered = await read({ ...others, messages: sent });
  const begun = last === null ? [] : await encodePart(last.content, 'messages', context);
  // A language is no text.
  const said = tokenizer.decode(begun, { skipSpecialTokens: true });
  const begins = said === '' ? rendered.begins : 'answer';
  return asSource({ ...rendered, begins, said }, context.source, 'messages', begun);
}

async function renderAsText(
  prompt: TextPrompt,
  context: RequestContext,
  limits: TileLimits,
  { signal, ended }: PromptEnd,
): Promise<RenderedPrompt> {
  if (context.library === null) checkNoTiles(limits);
  const { tokenizer, vocabulary, output, contextLength } = context;
  const thinking = thinkingTags(output);
  if ('ids' in prompt) {
    const bad = prompt.ids.find((id) => !Number.isInteger(id) || id < 0 || id >= vocabulary);
    if (bad !== undefined) {
      throw badRequest(`token id ${bad} is outside the vocabulary of ${vocabulary}`, 'prompt');
    }
    const text = tokenizer.decode(prompt.ids, { skipSpecialTokens: false });
    return { text, ids: prompt.ids, begins: beginsAfter(text, thinking), said: '', media: null };
  }
  if ('text' in prompt) {
    const { text } = prompt;
    const ids = await encodePart(text, 'prompt', context);
    return { text, ids, begins: beginsAfter(text, thinking), said: '', media: null };
  }
  const { library } = context;
  const { messages: kept, media } = await readMedia(prompt, context, limits, ended);
  const render = async (messages: ChatMessage[]): Promise<RenderedPrompt> => {
    const byTemplate = (rendering: ChatRendering) =>
      renderChat({ ...rendering, ...(library && library.shown) }, context, signal);
    const shown = library ? withoutBytes(messages, library.model.readers) : messages;
    const rendered = await renderConversation(
      { ...prompt, messages: shown },
      byTemplate,
      thinking,
      output.tools,
    );
    return { ...rendered, ...(await encodeShown(rendered.text, mediaOf(messages, media), context)) };
  };
  return prompt.dropOldest ? fitTurns(kept, contextLength - 1, render) : render([...kept]);
}

/** A rendered conversation. */
type Said = Pick<RenderedPrompt, 'text' | 'begins' | 'said'>;

type Conversation = Extract<TextPrompt, { messages: ChatMessage[] }>;

/** Renders a conversation. `render`: applies the chat template. Throws bad_request for a message that cannot be continued. */
export async function renderConversation(
  { messages, tools: shown, templateKwargs, continueFinal }: Conversation,
  render: (rendering: ChatRendering) => string | Promise<string>,
  thinking: ReasoningFormat | null,
  tools: ToolFormat | null = null,
): Promise<Said> {
  const last = continueFinal ? finalMessage(messages) : null;
  const sent = last === null ? messages : messages.slice(0, -1);
  const rendering: ChatRendering = {
    messages: sent,
    ...(shown ? { tools: shown } : {}),
    ...(templateKwargs ? { kwargs: templateKwargs } : {}),
    callText: (calls) => writeCalls(calls, tools),
  };
  let text: string;
  try {
    text = await render(rendering);
  } catch (error) {
    throw sent.length === 0 ? withoutFirst(error) : error;
  }
  const begins = beginsAfter(text, thinking);
  return last === null ? { text, begins, said: '' } : continued({ text, begins }, last, thinking);
}

/** Many chat templates need a message before one that is continued, and their own refusal does not say so. */
function withoutFirst(cause: unknown): unknown {
  if (!(cause instanceof EngineError) || cause.code !== 'bad_request' || cause.param !== 'messages')
    return cause;
  return badRequest(
    "messages has only the assistant's message that is continued, and the model's chat template needs one before it: send the user's message, too",
    'messages',
    cause,
  );
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
    throw badRequest(`continueFinal goes on with the last message: ${wanted}`, param);
  };
  if (last?.role !== 'assistant') return refuse(`${place}.role`, "it must be the assistant's");
  if (last.tool_calls?.length) return refuse(`${place}.tool_calls`, 'it must have no tool calls');
  const { content, reasoning_content: reasoning } = last;
  if (content != null && typeof content !== 'string') return refuse(`${place}.content`, 'it must be text');
  return { content: content ?? '', reasoning: reasoning ?? '' };
}

/** The prompt with the unfinished message appended in the model's format. */
function continued(
  { text, begins }: Omit<Said, 'said'>,
  { content, reasoning }: { content: string; reasoning: string },
  thinking: ReasoningFormat | null,
): Said {
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

/** Reads the media of a conversation; of one that may be shortened only those for which the context has room. */
async function readMedia(
  { messages, dropOldest }: Conversation,
  { library, template, contextLength: context }: RequestContext,
  limits: TileLimits,
  signal: AbortSignal | undefined,
): Promise<ReadTurns> {
  // Without a template the rendering throws.
  if (!library || template.problem !== null) return { messages, media: NO_MEDIA };
  if (dropOldest) return readLastTurns(library, messages, { limits, context, signal });
  const media = await library.read(messages, limits, signal, { room: library.room(context, signal) });
  return { messages, media };
}

function checkNoTiles({ minTiles, maxTiles }: TileLimits): void {
  if (minTiles !== undefined) throw uselessTiles('minTiles');
  if (maxTiles !== undefined) throw uselessTiles('maxTiles');
}

const NO_MEDIA: MediaByPart = new Map();

/** Tokenizes a rendered conversation with its media. */
async function encodeShown(
  text: string,
  media: readonly Medium[],
  context: RequestContext,
): Promise<Pick<RenderedPrompt, 'ids' | 'media'>> {
  const { library, tokenizer } = context;
  if (!library || media.length === 0)
    return { ids: await encodePart(text, context.source ? 'prompt' : 'messages', context), media: null };
  const together = library.together(media);
  const textOf = (id: number): string => tokenizer.decode([id], { skipSpecialTokens: false });
  const expanded = expandText(text, together, library.model.readers, textOf);
  const few = await encodePart(expanded.text, 'messages', context);
  const { ids, runs } = expandIds(few, expanded.runs, (token) => tokenizer.tokenToId(token));
  return { ids, media: placeMedia(ids.length, runs, library.model) };
}

/** Renders a conversation. A template that takes long runs in another thread, so that it does not delay other requests. */
function renderChat(
  rendering: ChatRendering,
  { template, longText }: RequestContext,
  signal: AbortSignal | undefined,
): string | Promise<string> {
  try {
    return template.render(rendering, { quick: longText !== null });
  } catch (error) {
    if (!(error instanceof TemplateLimitError) || longText === null) throw error;
    return longText.render(template.portable(rendering), signal);
  }
}

/** Tokenizes a text of a request. A rendered conversation contains its special tokens already, and a prediction has none. */
export async function encodePart(
  text: string,
  from: 'messages' | 'prompt' | 'prediction',
  { tokenizer, longText, vocabulary }: RequestContext,
): Promise<number[]> {
  assertLengths(text, from);
  const addSpecialTokens = from === 'prompt';
  const isLong = longText !== null && text.length > LONG_TEXT;
  const ids = isLong
    ? await longText.encode(text, addSpecialTokens)
    : tokenizer.encode(text, { addSpecialTokens });
  checkRows(ids, vocabulary, from);
  return ids;
}
