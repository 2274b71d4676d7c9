// Conversations as JSON files: written, and read with a check of everything that the page relies on.

import { newId } from '../api/new-id.ts';
import { saveJson } from '../parts/save-file.ts';
import type { Conversation } from './conversation.ts';
import { changedNow, save } from './state.ts';

const FORMAT = 'svc-engine conversations';

/** Offers conversations as a file. */
export function exportFile(conversations: readonly Conversation[], name: string): void {
  const file = name.replaceAll(/[^\p{L}\p{N} _-]/gu, '').trim() || 'conversation';
  saveJson({ format: FORMAT, version: 1, conversations }, `${file}.json`);
}

/** Stores the conversations of a file beside those that are there; returns them. Throws an error for the user if the file is damaged. */
export async function importFile(file: File): Promise<Conversation[]> {
  const found = readExported(await file.text(), file.name);
  for (const conversation of found) await save(conversation);
  changedNow();
  return found;
}

/** The conversations of an exported text, under new ids. */
export function readExported(text: string, name: string): Conversation[] {
  const damaged = (what: string): Error => new Error(`${name} was not imported: ${what}.`);
  let read: unknown;
  try {
    read = JSON.parse(text);
  } catch (error) {
    throw damaged(`it is not JSON (${(error as Error).message})`);
  }
  if (!isRecord(read) || read['format'] !== FORMAT) throw damaged('this page did not export it');
  if (read['version'] !== 1)
    throw damaged(`its version is ${JSON.stringify(read['version'])}, and this page reads 1`);
  const { conversations } = read;
  if (!Array.isArray(conversations)) throw damaged('it has no list of conversations');
  return conversations.map((one: unknown, at) => {
    const problem = problemOf(one);
    if (problem) throw damaged(`conversation ${at + 1} ${problem}`);
    return renewed(one as Conversation);
  });
}

function problemOf(value: unknown): string {
  if (!isRecord(value)) return 'is not an object';
  const { title, createdAt, updatedAt, models, settings, messages, leaf } = value;
  if (typeof title !== 'string') return 'has no title';
  if (!isTime(createdAt) || !isTime(updatedAt)) return 'has no times';
  if (!isTexts(models)) return 'has no list of models';
  if (!isRecord(settings) || !isSettings(settings)) return 'has damaged settings';
  if (!isRecord(messages)) return 'has no messages';
  for (const [id, message] of Object.entries(messages))
    if (!isMessage(message, id, messages)) return `has a damaged message ${id}`;
  return leaf === null || (typeof leaf === 'string' && leaf in messages)
    ? ''
    : 'ends at a message that it does not have';
}

function isMessage(value: unknown, id: string, all: Record<string, unknown>): boolean {
  if (!isRecord(value)) return false;
  const { parent, role, text, createdAt, attachments, calls, model, reasoning, usage, error } = value;
  return (
    value['id'] === id &&
    (parent === null || (typeof parent === 'string' && parent in all)) &&
    (role === 'user' || role === 'assistant') &&
    typeof text === 'string' &&
    isTime(createdAt) &&
    isOptional(model, isText) &&
    isOptional(reasoning, isText) &&
    isOptional(attachments, isListOf('kind', 'name', 'data')) &&
    isOptional(calls, isListOf('id', 'name', 'arguments')) &&
    isOptional(usage, (one) => isRecord(one) && isTime(one['prompt']) && isTime(one['completion'])) &&
    isOptional(error, (one) => isRecord(one) && isText(one['message'])) &&
    !isInCircle(id, all as Record<string, { parent?: unknown }>)
  );
}

/** Whether a message is among those before it. */
function isInCircle(id: string, all: Record<string, { parent?: unknown } | undefined>): boolean {
  const seen = new Set<unknown>();
  for (let at: unknown = id; typeof at === 'string'; at = all[at]?.parent) {
    if (seen.has(at)) return true;
    seen.add(at);
  }
  return false;
}

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
const isText = (value: unknown): boolean => typeof value === 'string';
const isTime = (value: unknown): boolean => typeof value === 'number';
const isTexts = (value: unknown): boolean => Array.isArray(value) && value.every(isText);
const isOptional = (value: unknown, check: (value: unknown) => boolean): boolean =>
  value === undefined || check(value);
const isListOf =
  (...names: string[]) =>
  (value: unknown): boolean =>
    Array.isArray(value) && value.every((one) => isRecord(one) && names.every((name) => isText(one[name])));
const isSettings = ({ system, fields, reasoning, schema }: Record<string, unknown>): boolean =>
  [system, reasoning, schema].every((one) => isOptional(one, isText)) &&
  isOptional(fields, (one) => isRecord(one) && Object.values(one).every(isText));

/** A conversation under an id of its own, without replies that run elsewhere. */
function renewed(conversation: Conversation): Conversation {
  const messages = structuredClone(conversation.messages);
  for (const message of Object.values(messages)) delete message.stream;
  return { ...conversation, id: newId(), messages };
}
