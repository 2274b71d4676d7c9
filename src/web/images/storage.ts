// What the browser keeps: the gallery, the requests that were running when the page was left, and the images of the form.

import { openDatabase, storeOf } from '../api/database.ts';
import type { Configuration, Sources } from './configuration.ts';

export interface Entry {
  id: string;
  kind: 'image' | 'video';
  /** Milliseconds since 1970. */
  createdAt: number;
  content: Blob;
  seed: number;
  /** WIDTHxHEIGHT. */
  size: string;
  /** As it was asked for, with the seed that was used. */
  configuration: Configuration;
  sources: Sources;
}

export interface Running {
  /** Id of the request. */
  id: string;
  kind: 'image' | 'video';
  startedAt: number;
  configuration: Configuration;
  sources: Sources;
  /** The server's id of a video. */
  video?: string;
  /** Indices of the images that are in the gallery, and the number of the event that brought the last one. */
  done?: number[];
  lastEvent?: number;
}

/** The images of the form. */
export interface FormSources extends Sources {
  id: 'sources';
}

const database = openDatabase('svc-images', ['gallery', 'running', 'form']);
// Each use of a store fails by itself where the browser refuses storage.
database.catch(() => {});

export const galleryStore = storeOf<Entry>(database, 'gallery');
export const runningStore = storeOf<Running>(database, 'running');
export const formStore = storeOf<FormSources>(database, 'form');
