// The gallery as the page shows it: entries, newest first, their addresses, and what is searched for.

import { computed, signal } from '@preact/signals';
import { saveFile, saveJson } from '../parts/save-file.ts';
import { type Entry, galleryStore } from './storage.ts';

const entries = signal<readonly Entry[]>([]);
/** Why the gallery cannot be read or added to; '' if it can. */
export const galleryProblem = signal('');
export const search = signal('');
/** Id of the entry that is shown in full size; null: none. */
export const opened = signal<string | null>(null);

/** Entries whose prompt, model, seed or settings have every word of the search. */
export const found = computed(() => {
  const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
  return entries.value.filter((entry) => words.every((word) => textOf(entry).includes(word)));
});
export const galleryCount = computed(() => entries.value.length);

const textOf = ({ configuration }: Entry): string =>
  Object.values(configuration).map(String).join(' ').toLowerCase();

export async function readGallery(): Promise<void> {
  try {
    const all = await galleryStore.all();
    const known = new Set(all.map(({ id }) => id));
    // Some may have been added meanwhile.
    const added = entries.value.filter(({ id }) => !known.has(id));
    entries.value = [...added, ...all].sort((a, b) => b.createdAt - a.createdAt);
  } catch (error) {
    galleryProblem.value = `This browser keeps no gallery (${String(error)}); download images that you want to keep.`;
  }
}

/** Adds an entry, or replaces one of the same id: a request that is taken up again tells its images once more. */
export async function addEntry(entry: Entry): Promise<void> {
  entries.value = [entry, ...entries.value.filter(({ id }) => id !== entry.id)];
  try {
    await galleryStore.put(entry);
  } catch (error) {
    galleryProblem.value = `The image could not be stored (${String(error)}); download it, or delete older ones.`;
  }
}

export async function deleteEntry(id: string): Promise<void> {
  entries.value = entries.value.filter((entry) => entry.id !== id);
  const url = urls.get(id);
  if (url !== undefined) URL.revokeObjectURL(url);
  urls.delete(id);
  await galleryStore.delete(id);
}

const urls = new Map<string, string>();

/** Address of an entry's content within this page. */
export function urlOf({ id, content }: Entry): string {
  const known = urls.get(id);
  if (known !== undefined) return known;
  const url = URL.createObjectURL(content);
  urls.set(id, url);
  return url;
}

/** True for contents that an <img> shows: images, and clips in the formats of animated images. */
export const isPicture = ({ content }: Entry): boolean => content.type.startsWith('image/');

/** Name of a file without its ending, from the prompt and the seed. */
function stemOf({ configuration, seed }: Entry): string {
  const words = configuration.prompt.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [];
  return [...words.slice(0, 6), seed].join('-');
}

export function downloadEntry(entry: Entry): void {
  const type = entry.content.type.split('/')[1] ?? 'bin';
  saveFile(entry.content, `${stemOf(entry)}.${type === 'jpeg' ? 'jpg' : type}`);
}

export function exportConfiguration(entry: Entry): void {
  saveJson(entry.configuration, `${stemOf(entry)}.json`);
}

/** The configurations of all entries that the search finds. */
export function exportFound(): void {
  saveJson(
    found.value.map(({ createdAt, size, configuration }) => ({
      created: new Date(createdAt).toISOString(),
      size,
      ...configuration,
    })),
    'images.json',
  );
}
