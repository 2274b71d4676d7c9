// Files that a user adds to a message: media that the model takes, and texts.

import { textModels, type ListedModel } from '../api/models.ts';
import type { Attachment } from './conversation.ts';

/** The body of a request has at most 64 MiB, in which media grow by a third. */
const MOST_BYTES = 45e6;
const MOST_TEXT = 2e6;

const NOUNS = { image: 'images', audio: 'sounds', video: 'videos' } as const;

/** Reads a file. Throws an error with a message for the user where the models do not take it. */
export async function readAttachment(file: File, models: readonly string[]): Promise<Attachment> {
  const [type = ''] = file.type.split('/');
  const kind = type === 'image' || type === 'audio' || type === 'video' ? type : null;
  if (kind === null) return readText(file);
  for (const model of textModels.value.filter(({ id }) => models.includes(id)))
    checkTakes(model, kind, file.name);
  if (file.size > MOST_BYTES)
    throw new Error(`${file.name} has ${megabytes(file.size)}; a message takes ${megabytes(MOST_BYTES)}.`);
  return { kind, name: file.name, data: await dataUrlOf(file) };
}

function checkTakes({ id, modalities }: ListedModel, kind: keyof typeof NOUNS, name: string): void {
  // A model that is not open yet does not tell what it takes; the server will.
  if (!modalities || modalities.includes(kind)) return;
  const able = textModels.value.filter((model) => model.modalities?.includes(kind)).map((model) => model.id);
  const remedy = able.length > 0 ? `ask ${able.join(' or ')}` : 'no model of this server does';
  throw new Error(`${name} was not added: ${id} does not take ${NOUNS[kind]}; ${remedy}.`);
}

async function readText(file: File): Promise<Attachment> {
  const { name, size } = file;
  if (size > MOST_TEXT)
    throw new Error(`${name} has ${megabytes(size)}; a text file may have ${megabytes(MOST_TEXT)}.`);
  try {
    const data = new TextDecoder('utf-8', { fatal: true }).decode(await file.arrayBuffer());
    if (!data.includes('\0')) return { kind: 'text', name, data };
  } catch {
    // Not UTF-8: no text.
  }
  throw new Error(`${name} was not added: it is neither a text nor an image, a sound or a video.`);
}

const megabytes = (bytes: number): string => `${(bytes / 1e6).toFixed(1)} MB`;

function dataUrlOf(file: File): Promise<string> {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => resolve(reader.result as string);
    reader.onerror = () => reject(new Error(`${file.name} cannot be read: ${reader.error?.message}`));
    reader.readAsDataURL(file);
  });
}
