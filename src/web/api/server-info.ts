// What GET /server_info says of the server and its models.

import { signal } from '@preact/signals';
import { callJson } from './call.ts';

export interface ServerInfo {
  version?: string;
  status: string;
  started_at: number;
  uptime_seconds: number;
  /** Replies that are being sent, this one too. */
  open_replies: number;
  models: ServedModel[];
}

export interface ServedModel {
  names: string[];
  kind: 'text' | 'embedding' | 'image' | 'transcription' | null;
  phase: string;
  /** Why it failed. */
  reason?: string;
  info?: ServedModelInfo;
  /** Requests, and tokens of text models; null where a model has just ended. */
  metrics?: { running?: number; waiting?: number; generatedTokens?: number } | null;
}

export interface ServedModelInfo {
  /** Bytes; `kv` and `arena` are of text and embedding models. */
  memory: { budget: number; weights: number; kv?: number; arena?: number };
  adapter?: { description: string; device: string };
  /** The members below are of image models. */
  components?: Record<string, string>;
  supports?: { imageToImage: boolean; inpainting: boolean; negativePrompt: boolean; edits: number };
  loras?: { given: { name: string; scale: number }[]; hasFolder: boolean };
  upscaler?: { scale: number } | null;
  frameMultiple?: number | null;
}

/** The last answer; null before the first one. */
export const serverInfo = signal<ServerInfo | null>(null);
/** Why the last request for it failed; '' if it did not. */
export const serverProblem = signal('');

export async function refreshServerInfo(): Promise<void> {
  try {
    serverInfo.value = await callJson<ServerInfo>('server_info');
    serverProblem.value = '';
  } catch (error) {
    serverProblem.value = error instanceof Error ? error.message : String(error);
  }
}

/** The model that answers to a name; undefined where it is not open. */
export function servedModel(name: string): ServedModel | undefined {
  return serverInfo.value?.models.find(({ names }) => names.includes(name));
}
