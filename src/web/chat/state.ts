// Conversations in memory and in the browser's storage.

import { signal } from '@preact/signals';
import { openDatabase, storeOf } from '../api/database.ts';
import { route } from '../parts/route.ts';
import { type Conversation, type Head, headOf, newestLeaf } from './conversation.ts';

const database = openDatabase('svc-chat', ['conversations', 'heads']);
const conversations = storeOf<Conversation>(database, 'conversations');
const headStore = storeOf<Head>(database, 'heads');

/** The list of conversations, newest first; null until it is read. */
export const heads = signal<Head[] | null>(null);
/** Why the browser's storage cannot be used; '' if it can. */
export const storageProblem = signal('');
/** Counts changes of loaded conversations; what shows one reads it. */
export const changes = signal(0);

const loaded = new Map<string, Conversation>();

/** The conversation that the address names; its value is null for a new one, and for one that is not loaded yet. What reads it is shown anew with each change. */
export const current = {
  get value(): Conversation | null {
    void changes.value;
    return loaded.get(route.value[1] ?? '') ?? null;
  },
};

let frame: number | undefined;

/** Shows a change of a loaded conversation, at most once a frame. */
export function changed(): void {
  frame ??= requestAnimationFrame(() => {
    frame = undefined;
    changes.value += 1;
  });
}

/** Shows a change at once. */
export function changedNow(): void {
  changes.value += 1;
}

const stored = async <T>(work: Promise<T>): Promise<T | undefined> => {
  try {
    return await work;
  } catch (error) {
    storageProblem.value = `Conversations cannot be stored (${String(error)}); allow this page to use storage, or free some.`;
    return undefined;
  }
};

export async function readHeads(): Promise<Head[]> {
  const all = (await stored(headStore.all())) ?? [];
  heads.value = all.sort((a, b) => b.updatedAt - a.updatedAt);
  return heads.value;
}

export async function load(id: string): Promise<Conversation | null> {
  const known = loaded.get(id);
  if (known) return known;
  const read = await stored(conversations.get(id));
  // Another call may have loaded it meanwhile, and its object may have changed.
  const found = loaded.get(id) ?? read;
  if (!found) return null;
  // What ran in a page that was left does not run any more; a reply does, and is taken up.
  if (!loaded.has(id))
    for (const { calls = [] } of Object.values(found.messages)) for (const call of calls) delete call.state;
  loaded.set(id, found);
  changedNow();
  return found;
}

/**
 * Reads what another page has stored of a loaded conversation meanwhile; messages of which `isOwn` is true stay as they are here. Returns false
 * if the conversation was deleted.
 */
export async function readAgain(
  conversation: Conversation,
  isOwn: (message: string) => boolean,
): Promise<boolean> {
  const found = await stored(conversations.get(conversation.id));
  if (!found) {
    loaded.delete(conversation.id);
    return false;
  }
  const { messages, leaf } = conversation;
  const read = Object.entries(found.messages).filter(([id]) => !isOwn(id));
  Object.assign(messages, Object.fromEntries(read));
  if (leaf !== null) conversation.leaf = newestLeaf(conversation, leaf);
  const head = headOf(conversation);
  heads.value = (heads.value ?? []).map((one) => (one.id === head.id ? head : one));
  changedNow();
  return true;
}

/** All conversations, loaded or not. */
export async function allConversations(): Promise<Conversation[]> {
  const all = (await stored(conversations.all())) ?? [];
  return all.map((one) => loaded.get(one.id) ?? one);
}

/** Stores a conversation as it is now. `isTouched`: it becomes the newest of the list. */
export async function save(conversation: Conversation, isTouched = false): Promise<void> {
  if (isTouched) conversation.updatedAt = Date.now();
  loaded.set(conversation.id, conversation);
  const head = headOf(conversation);
  const others = (heads.value ?? []).filter(({ id }) => id !== head.id);
  heads.value = [...others, head].sort((a, b) => b.updatedAt - a.updatedAt);
  changed();
  await stored(Promise.all([conversations.put(conversation), headStore.put(head)]));
}

export async function remove(id: string): Promise<void> {
  loaded.delete(id);
  heads.value = (heads.value ?? []).filter((head) => head.id !== id);
  changedNow();
  await stored(Promise.all([conversations.delete(id), headStore.delete(id)]));
}

export async function rename(id: string, title: string): Promise<void> {
  const conversation = await load(id);
  if (!conversation) return;
  conversation.title = title;
  await save(conversation);
}
