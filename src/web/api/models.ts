// The models that the server lists, kept current while a view shows them.

import { computed, signal } from '@preact/signals';
import { callJson } from './call.ts';

/** An entry of GET /v1/models; what is not known of a model that is not open is missing. */
export interface ListedModel {
  id: string;
  parent: string | null;
  kind?: 'text' | 'embedding' | 'image' | 'transcription' | null;
  status?: ModelStatus;
  pinned?: boolean;
  /** Bytes on disk. */
  size?: number | null;
  /** Bytes on the device. */
  memory?: number | null;
  architecture?: string;
  max_model_len?: number;
  modalities?: string[];
  sampling_defaults?: Record<string, { value: unknown; source: string }>;
  pipeline?: string;
  size_multiple?: number;
  schedulers?: string[];
  image_defaults?: Record<string, unknown>;
  /** Of a model that is not open. */
  draws_clips?: boolean;
}

export interface ModelStatus {
  value: 'unloaded' | 'downloading' | 'loading' | 'loaded' | 'sleeping';
  failed?: true;
  error?: string;
  /** From 0 to 1. */
  progress?: number;
}

/** Models by their last listing; null before the first one. */
export const models = signal<ListedModel[] | null>(null);
/** Why the last listing failed; '' if it did not. */
export const modelsProblem = signal('');

const isText = ({ kind, modalities }: ListedModel): boolean =>
  kind === undefined ? modalities !== undefined : kind === 'text' || kind === null;
const isImage = ({ kind, image_defaults: defaults }: ListedModel): boolean =>
  kind === undefined ? defaults !== undefined : kind === 'image';

/** Whether a model draws clips unless it is asked for something else. */
export const drawsClips = ({ image_defaults: defaults, draws_clips: drawn }: ListedModel): boolean =>
  drawn ?? defaults?.['num_frames'] !== undefined;

export const textModels = computed(() => (models.value ?? []).filter(isText));
export const imageModels = computed(() => (models.value ?? []).filter(isImage));

export async function refreshModels(): Promise<void> {
  try {
    models.value = (await callJson<{ data: ListedModel[] }>('v1/models')).data;
    modelsProblem.value = '';
  } catch (error) {
    modelsProblem.value = error instanceof Error ? error.message : String(error);
  }
}
