// The models with their states, and what can be done with each.

import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { bytesText } from '../parts/bytes.ts';
import { confirmed } from '../parts/confirm-dialog.tsx';
import { command, fixedList, type ModelRow, refusalOf, rows, takesCommands } from './model-rows.ts';

export function ModelList() {
  return (
    <section aria-labelledby="models-title">
      <h2 id="models-title">Models</h2>
      <ul class="models">
        {rows.value.map((row) => (
          <ModelItem key={row.id} row={row} />
        ))}
      </ul>
      {fixedList.value && <p class="muted">{fixedList.value}</p>}
      {takesCommands.value && <DownloadForm />}
    </section>
  );
}

function ModelItem({ row }: { row: ModelRow }) {
  const { id, kind, state, problem, progress, pinned, size, memory } = row;
  const facts = [
    kind,
    size !== null && `${bytesText(size)} on disk`,
    memory !== null && `${bytesText(memory)} on the device`,
    pinned && 'pinned',
  ].filter(Boolean);
  return (
    <li aria-label={id}>
      <div>
        <strong>{id}</strong> <span class={`state ${state}`}>{state}</span>
        <p class="muted">{facts.join(' · ')}</p>
        {(state === 'loading' || state === 'downloading') && (
          <progress aria-label={`${id} is ${state}`} max={1} value={progress ?? undefined} />
        )}
        {problem && <p class="problem">{problem}</p>}
      </div>
      {takesCommands.value && <Commands row={row} />}
    </li>
  );
}

function Commands({ row: { id, state } }: { row: ModelRow }) {
  const remove = async (): Promise<void> => {
    const text = `Remove ${id} from the server's disk? Other programs that use the same files lose it, too.`;
    if (await confirmed(text, 'Remove')) await command('remove', id);
  };
  const isOpen = state === 'loaded' || state === 'sleeping';
  const isClosed = state === 'unloaded' || state === 'failed';
  return (
    <div class="buttons">
      {isClosed && <CommandButton act={() => command('load', id)}>Load</CommandButton>}
      {isOpen && <CommandButton act={() => command('unload', id)}>Unload</CommandButton>}
      {isClosed && <CommandButton act={remove}>Remove</CommandButton>}
      {state === 'downloading' && (
        <CommandButton act={() => command('remove', id)}>Cancel the download</CommandButton>
      )}
    </div>
  );
}

/** A button that cannot be pressed again until its command was answered. */
function CommandButton({ act, children }: { act(): Promise<void>; children: string }): JSX.Element {
  const [isSent, setIsSent] = useState(false);
  const press = async (): Promise<void> => {
    setIsSent(true);
    await act();
    setIsSent(false);
  };
  return (
    <button type="button" disabled={isSent} onClick={() => void press()}>
      {children}
    </button>
  );
}

function DownloadForm() {
  const [id, setId] = useState('');
  const [asked, setAsked] = useState('');
  const problem = rows.value.some((row) => row.id === asked) ? '' : refusalOf(asked);
  return (
    <form
      class="download"
      onSubmit={(event) => {
        event.preventDefault();
        setAsked(id.trim());
        void command('download', id.trim());
      }}
    >
      <label>
        Download a model of the hub
        <input
          required
          placeholder="owner/name"
          value={id}
          onInput={({ currentTarget }) => setId(currentTarget.value)}
        />
      </label>
      <button type="submit">Download</button>
      {problem && (
        <p role="alert" class="problem">
          {problem}
        </p>
      )}
    </form>
  );
}
