// The gallery: what was drawn, newest first. Arrow keys move between entries, Enter opens one, Delete removes it.

import { useEffect, useRef, useState } from 'preact/hooks';
import { confirmed } from '../parts/confirm-dialog.tsx';
import {
  deleteEntry,
  exportFound,
  found,
  galleryCount,
  galleryProblem,
  isPicture,
  opened,
  readGallery,
  search,
  urlOf,
} from './gallery-state.ts';
import type { Entry } from './storage.ts';

/** Entries that are shown at first, and with each press of the button below them. */
const PAGE = 60;

export function Gallery() {
  const [shown, setShown] = useState(PAGE);
  useEffect(() => void readGallery(), []);
  const entries = found.value;
  return (
    <section aria-labelledby="gallery-title">
      <div class="gallery-bar">
        <h2 id="gallery-title">Gallery</h2>
        <input
          type="search"
          aria-label="Search the gallery"
          placeholder="Search"
          value={search.value}
          onInput={({ currentTarget }) => {
            search.value = currentTarget.value;
          }}
        />
        <button type="button" disabled={entries.length === 0} onClick={exportFound}>
          Export configurations
        </button>
        <span class="muted" role="status">
          {entries.length} of {galleryCount.value}
        </span>
      </div>
      {galleryProblem.value && <p class="problem">{galleryProblem.value}</p>}
      {galleryCount.value === 0 && <p class="muted">What you draw is kept here, in this browser.</p>}
      <Grid entries={entries.slice(0, shown)} />
      {entries.length > shown && (
        <button type="button" onClick={() => setShown(shown + PAGE)}>
          Show more
        </button>
      )}
    </section>
  );
}

/** Resolves with whether the entry was deleted. */
export async function askAndDelete(entry: Entry): Promise<boolean> {
  const { prompt } = entry.configuration;
  const text = `Delete ${prompt ? `“${prompt}”` : 'this entry'} from the gallery? It cannot be brought back.`;
  if (!(await confirmed(text, 'Delete'))) return false;
  await deleteEntry(entry.id);
  return true;
}

/** One entry at a time is reached by Tab; the others by arrow keys from there. */
function Grid({ entries }: { entries: readonly Entry[] }) {
  const list = useRef<HTMLUListElement>(null);
  const [active, setActive] = useState(0);
  const reached = Math.min(active, entries.length - 1);
  const focus = (at: number): void => {
    if (at < 0 || at >= entries.length) return;
    setActive(at);
    list.current!.querySelectorAll('button')[at]!.focus();
  };
  /** The focus goes on to the entry that takes the place. */
  const removeAt = async (at: number): Promise<void> => {
    if (!(await askAndDelete(entries[at]!))) return;
    requestAnimationFrame(() => {
      const left = list.current?.querySelectorAll('button') ?? [];
      left[Math.min(at, left.length - 1)]?.focus();
    });
  };
  const press = (event: KeyboardEvent, at: number): void => {
    const columns = columnsOf(list.current!);
    const moves: Record<string, number> = {
      ...{ ArrowRight: at + 1, ArrowLeft: at - 1, ArrowDown: at + columns, ArrowUp: at - columns },
      ...{ Home: 0, End: entries.length - 1 },
    };
    const to = moves[event.key];
    if (to !== undefined) {
      event.preventDefault();
      focus(to);
    }
    if (event.key === 'Delete') void removeAt(at);
  };
  return (
    <ul class="gallery" ref={list}>
      {entries.map((entry, at) => (
        <li key={entry.id}>
          <button
            type="button"
            tabIndex={at === reached ? 0 : -1}
            onFocus={() => setActive(at)}
            onKeyDown={(event) => press(event, at)}
            onClick={() => {
              opened.value = entry.id;
            }}
          >
            <Content entry={entry} />
          </button>
        </li>
      ))}
    </ul>
  );
}

function columnsOf(list: HTMLElement): number {
  const items = [...list.children] as HTMLElement[];
  return items.filter(({ offsetTop }) => offsetTop === items[0]!.offsetTop).length;
}

function Content({ entry }: { entry: Entry }) {
  const name = entry.configuration.prompt || `Without a prompt, seed ${entry.seed}`;
  if (isPicture(entry)) return <img src={urlOf(entry)} alt={name} loading="lazy" />;
  return <video src={urlOf(entry)} aria-label={`Video: ${name}`} muted playsInline preload="metadata" />;
}
