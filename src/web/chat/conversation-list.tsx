// The list of conversations: search, rename, delete, export, import.

import { useEffect, useRef, useState } from 'preact/hooks';
import { confirmed, ConfirmDialog } from '../parts/confirm-dialog.tsx';
import { route } from '../parts/route.ts';
import type { Conversation, Head } from './conversation.ts';
import { stopAll } from './reply.ts';
import { allConversations, heads, load, remove, rename, storageProblem } from './state.ts';
import { exportFile, importFile } from './transfer.ts';

export function ConversationList({ onChosen }: { onChosen(): void }) {
  const [search, setSearch] = useState('');
  const [problem, setProblem] = useState('');
  const found = useSearch(search);
  const picker = useRef<HTMLInputElement>(null);
  const shown = (heads.value ?? []).filter(({ id }) => found === null || found.has(id));
  const take = async (file: File | undefined) => {
    if (!file) return;
    try {
      await importFile(file);
      setProblem('');
    } catch (error) {
      setProblem((error as Error).message);
    }
  };
  return (
    <nav class="list" aria-label="Conversations">
      <a class="new" href="#/chat" onClick={onChosen}>
        New conversation
      </a>
      <input
        type="search"
        aria-label="Search conversations"
        placeholder="Search"
        value={search}
        onInput={({ currentTarget }) => setSearch(currentTarget.value)}
      />
      {(problem || storageProblem.value) && (
        <p class="problem" role="alert">
          {problem || storageProblem.value}
        </p>
      )}
      <ul>
        {shown.map((head) => (
          <Entry key={head.id} head={head} onChosen={onChosen} />
        ))}
      </ul>
      {search !== '' && found !== null && shown.length === 0 && (
        <p class="muted">No conversation has these words.</p>
      )}
      <div class="actions">
        <button
          type="button"
          onClick={() => void allConversations().then((all) => exportFile(all, 'conversations'))}
        >
          Export all
        </button>
        <button type="button" onClick={() => picker.current?.click()}>
          Import
        </button>
        <input
          ref={picker}
          type="file"
          autocomplete="off"
          accept="application/json,.json"
          hidden
          aria-label="File of conversations"
          onChange={({ currentTarget }) => {
            void take(currentTarget.files?.[0]);
            currentTarget.value = '';
          }}
        />
      </div>
      <ConfirmDialog />
    </nav>
  );
}

/** Ids of the conversations that have all words of a search; null: no search. */
function useSearch(search: string): ReadonlySet<string> | null {
  const [found, setFound] = useState<ReadonlySet<string> | null>(null);
  useEffect(() => {
    let isCurrent = true;
    const words = search.toLowerCase().split(/\s+/).filter(Boolean);
    if (words.length === 0) setFound(null);
    else
      void allConversations().then((all) => {
        const ids = all.filter((one) => hasWords(one, words)).map(({ id }) => id);
        if (isCurrent) setFound(new Set(ids));
      });
    return () => {
      isCurrent = false;
    };
  }, [search]);
  return found;
}

function hasWords({ title, messages }: Conversation, words: readonly string[]): boolean {
  const text = [title, ...Object.values(messages).map((message) => message.text)].join('\n').toLowerCase();
  return words.every((word) => text.includes(word));
}

function Entry({ head: { id, title, isRunning }, onChosen }: { head: Head; onChosen(): void }) {
  const [isRenamed, setRenamed] = useState(false);
  const isShown = route.value[1] === id;
  const erase = async () => {
    if (!(await confirmed(`Delete the conversation “${title}”?`, 'Delete'))) return;
    const conversation = await load(id);
    if (conversation) await stopAll(conversation);
    await remove(id);
    if (isShown) location.hash = '#/chat';
  };
  if (isRenamed) {
    return (
      <li>
        <input
          aria-label={`New title of ${title}`}
          value={title}
          ref={(input) => input?.focus()}
          onBlur={() => setRenamed(false)}
          onKeyDown={({ key, currentTarget }) => {
            if (key !== 'Enter' && key !== 'Escape') return;
            if (key === 'Enter' && currentTarget.value.trim()) void rename(id, currentTarget.value.trim());
            setRenamed(false);
          }}
        />
      </li>
    );
  }
  return (
    <li>
      <a href={`#/chat/${id}`} aria-current={isShown ? 'page' : undefined} onClick={onChosen}>
        {title}
        {isRunning && <span class="muted"> …</span>}
      </a>
      <details class="menu">
        <summary aria-label={`More about ${title}`}>⋯</summary>
        <div>
          <button type="button" onClick={() => setRenamed(true)}>
            Rename
          </button>
          <button
            type="button"
            onClick={() => void load(id).then((one) => one && exportFile([one], one.title))}
          >
            Export
          </button>
          <button type="button" onClick={() => void erase()}>
            Delete
          </button>
        </div>
      </details>
    </li>
  );
}
