// What a user does with a conversation: send, edit, regenerate, compare, go to another branch.

import { newId } from '../api/new-id.ts';
import { signal } from '@preact/signals';
import { newStreamId } from '../api/resumable.ts';
import { textModels } from '../api/models.ts';
import { alone } from '../parts/alone.ts';
import { replaceRoute } from '../parts/route.ts';
import {
  addMessage,
  type Attachment,
  type Conversation,
  type Message,
  newConversation,
  newestLeaf,
  pathTo,
  titleOf,
} from './conversation.ts';
import { runReply, takeUp } from './reply.ts';
import { requestFor } from './request.ts';
import { settingsProblem, type SettingValues } from './settings.ts';
import { changedNow, current, load, readAgain, readHeads, save } from './state.ts';
import { answerCalls, offeredTools } from './tool-calls.ts';

/** Models and settings of a conversation that has no message yet. */
export const draft = signal<{ models: string[]; settings: SettingValues }>({ models: [], settings: {} });

/** The models that a conversation asks: its own as far as the server has them, else the first that it lists. */
export function modelsOf(models: readonly string[]): string[] {
  const known = textModels.value.map(({ id }) => id);
  const found = models.filter((id) => known.includes(id));
  return found.length > 0 ? found : known.slice(0, 1);
}

/** Changes models or settings of the shown conversation, or of the one that begins next. */
export function change(values: Partial<Pick<Conversation, 'models' | 'settings'>>): void {
  const conversation = current.value;
  if (!conversation) {
    draft.value = { ...draft.value, ...values };
    return;
  }
  Object.assign(conversation, values);
  changedNow();
  void save(conversation);
}

/** Why nothing can be sent now; '' if it can. */
export function sendingProblem(): string {
  const { settings } = current.value ?? draft.value;
  const problem = settingsProblem(settings);
  if (problem) return `The settings need a change: ${problem}`;
  return textModels.value.length === 0
    ? 'The server has no chat model; see its view for what it serves.'
    : '';
}

/** Sends a message after the last one that is shown. */
export async function send(text: string, attachments: Attachment[]): Promise<void> {
  const conversation = current.value ?? startConversation(text, attachments);
  await sendAfter(conversation, conversation.leaf, text, attachments);
}

function startConversation(text: string, attachments: Attachment[]): Conversation {
  const conversation = newConversation(draft.value.models, draft.value.settings);
  conversation.title = titleOf(text || (attachments[0]?.name ?? ''));
  draft.value = { models: draft.value.models, settings: draft.value.settings };
  void save(conversation, true);
  replaceRoute('chat', conversation.id);
  return conversation;
}

async function sendAfter(
  conversation: Conversation,
  parent: string | null,
  text: string,
  attachments: Attachment[],
): Promise<void> {
  const more = attachments.length > 0 && { attachments };
  const asked = addMessage(conversation, { parent, role: 'user', text, ...more });
  await replyTo(conversation, asked.id, modelsOf(conversation.models));
}

/** Sends a changed message as a branch beside it. */
export const edit = (conversation: Conversation, message: Message, text: string): Promise<void> =>
  sendAfter(conversation, message.parent, text, message.attachments ?? []);

/** Asks for another reply in a branch beside it. */
export const regenerate = (conversation: Conversation, message: Message, model: string): Promise<void> =>
  replyTo(conversation, message.parent!, [model]);

/** Asks models for replies to a message, side by side if they are several. */
async function replyTo(conversation: Conversation, parent: string, models: readonly string[]): Promise<void> {
  const group = models.length > 1 && { group: newId() };
  const replies = models.map((model) => {
    const stream = newStreamId();
    return beginReply(conversation, { parent, model, stream, ...group });
  });
  conversation.leaf = replies[0]?.id ?? parent;
  changedNow();
  await Promise.all(replies.map((reply) => run(conversation, reply)));
}

/** Other pages leave a reply to this one while it runs and while its calls are answered. */
const run = (conversation: Conversation, reply: Message): Promise<void> =>
  withReply(reply, async () => {
    const path = pathTo(conversation, reply.parent);
    const tools = await offeredTools();
    await runReply(conversation, reply, requestFor(conversation, reply.model!, path, tools));
    await goOn(conversation, reply);
  });

/** Messages whose replies this page runs. */
const own = new Set<string>();
/** Messages that this page has begun: they are not taken up, also where the stored ones are read late. */
const begun = new Set<string>();

type NewReply = Omit<Message, 'id' | 'createdAt' | 'role' | 'text'>;

function beginReply(conversation: Conversation, message: NewReply): Message {
  const reply = addMessage(conversation, { role: 'assistant', text: '', ...message });
  begun.add(reply.id);
  return reply;
}

const withReply = ({ id }: Message, work: (hasWaited: boolean) => Promise<void>): Promise<void> =>
  alone(`svc-reply-${id}`, async (hasWaited) => {
    own.add(id);
    try {
      await work(hasWaited);
    } finally {
      own.delete(id);
    }
  });

/** After a reply that calls tools: their results, and the reply to those. */
async function goOn(conversation: Conversation, reply: Message): Promise<void> {
  if (!(await answerCalls(conversation, reply))) return;
  const stream = newStreamId();
  const { id: parent, model } = reply;
  const next = beginReply(conversation, { parent, model: model!, stream });
  if (conversation.leaf === reply.id) conversation.leaf = next.id;
  changedNow();
  await run(conversation, next);
}

/** Answers the calls of a reply that wait for nobody here; if another page is at them, shows what came of it. */
export const answer = (conversation: Conversation, reply: Message): Promise<void> =>
  withReply(reply, async (hasWaited) => {
    if (!hasWaited) await goOn(conversation, reply);
    else await readAgain(conversation, (id) => id !== reply.id && own.has(id));
  });

/** Shows the branch of a message. */
export function show(conversation: Conversation, message: Message): void {
  conversation.leaf = newestLeaf(conversation, message.id);
  changedNow();
  void save(conversation);
}

let isTakenUp = false;

/** Takes up the replies that ran when the page was left, of all conversations; those that another page runs once that has ended. */
export async function takeUpAll(): Promise<void> {
  if (isTakenUp) return;
  isTakenUp = true;
  const left = (await readHeads()).filter(({ isRunning }) => isRunning);
  await Promise.all(left.map(({ id }) => takeUpIn(id)));
}

async function takeUpIn(id: string): Promise<void> {
  const conversation = await load(id);
  if (!conversation) return;
  let isChanged = false;
  const left = Object.values(conversation.messages).filter(
    ({ id: message, stream }) => stream !== undefined && !begun.has(message),
  );
  const taken = left.map((message) =>
    withReply(message, async (hasWaited) => {
      isChanged ||= hasWaited;
      if (hasWaited && !(await readAgain(conversation, (one) => one !== message.id && own.has(one)))) return;
      const now = conversation.messages[message.id];
      if (now?.stream === undefined) return;
      await takeUp(conversation, now);
      await goOn(conversation, now);
    }),
  );
  await Promise.all(taken);
  // The other page may have been left at a later reply.
  if (isChanged) await takeUpIn(id);
}
