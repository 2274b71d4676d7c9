// Tuned kernel variants as text, and the name of the file of each adapter and driver.

import { isRecord, jsonObject } from './source.ts';

/** Numbers by name, by the key they were measured for. */
export type TunedEntries = Readonly<Record<string, Readonly<Record<string, number>>>>;

/** Names an adapter and its driver. */
export interface TunedFor {
  vendor: string;
  architecture: string;
  device: string;
  description: string;
}

/** Returns nothing for a missing or unreadable text. */
export function parseTuned(text: string | null): TunedEntries {
  const entries = text === null ? null : jsonObject(text);
  return isTuned(entries) ? entries : {};
}

export const tunedText = (entries: TunedEntries): string => `${JSON.stringify(entries, null, 1)}\n`;

/** `sha256`: the digest of a text in hexadecimal. */
export function tunedFileName(
  { vendor, architecture, device, description }: TunedFor,
  sha256: (text: string) => string,
): string {
  const identity = JSON.stringify([vendor, architecture, device, description]);
  const stem = (device || vendor).replace(/[^\w.-]+/g, '_').slice(0, 60);
  return `${stem}-${sha256(identity).slice(0, 12)}.json`;
}

function isTuned(entries: unknown): entries is TunedEntries {
  return (
    isRecord(entries) &&
    Object.values(entries).every(
      (variant) => isRecord(variant) && Object.values(variant).every((value) => Number.isFinite(value)),
    )
  );
}
