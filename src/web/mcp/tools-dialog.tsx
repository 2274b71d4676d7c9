// The dialog of tool servers: addresses, tokens, their tools.

import { useEffect, useRef, useState } from 'preact/hooks';
import {
  addServer,
  connectAll,
  connections,
  removeServer,
  servers,
  setAlways,
  switchServer,
  type ToolServer,
} from './tool-servers.ts';

export function ToolsDialog({ onClose }: { onClose(): void }) {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    dialog.current?.showModal();
    void connectAll();
  }, []);
  return (
    <dialog ref={dialog} class="tools" aria-labelledby="tools-title" onClose={onClose}>
      <h2 id="tools-title">Tools</h2>
      <p class="muted">
        Servers of the Model Context Protocol (streamable HTTP), whose tools the model may call. You confirm
        each call.
      </p>
      {servers.value.map((server) => (
        <ServerEntry key={server.url} server={server} />
      ))}
      <AddForm />
      <form method="dialog">
        <button type="submit">Close</button>
      </form>
    </dialog>
  );
}

function ServerEntry({ server: { url, isOn, always } }: { server: ToolServer }) {
  const connection = connections.value.get(url);
  const isKnown = typeof connection === 'object';
  return (
    <fieldset>
      <legend>{url}</legend>
      <div class="actions">
        <label>
          <input
            type="checkbox"
            checked={isOn}
            onChange={({ currentTarget }) => void switchServer(url, currentTarget.checked)}
          />{' '}
          Offer its tools
        </label>
        <button type="button" aria-label={`Remove ${url}`} onClick={() => removeServer(url)}>
          Remove
        </button>
      </div>
      {connection === 'connecting' && <p class="muted">Connecting …</p>}
      {isKnown && 'problem' in connection && <p class="problem">{connection.problem}</p>}
      {isKnown && 'tools' in connection && (
        <ul>
          {connection.tools.map(({ name, description }) => (
            <li key={name}>
              <code>{name}</code> {description}{' '}
              {always.includes(name) && (
                <button type="button" onClick={() => setAlways(url, name, false)}>
                  {`Confirm calls of ${name} again`}
                </button>
              )}
            </li>
          ))}
        </ul>
      )}
    </fieldset>
  );
}

function AddForm() {
  const [url, setUrl] = useState('');
  const [token, setToken] = useState('');
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        setUrl('');
        setToken('');
        void addServer({ url: new URL(url).href, token: token.trim() });
      }}
    >
      <label>
        Address
        <input
          type="url"
          required
          placeholder="http://localhost:3001/mcp"
          value={url}
          onInput={({ currentTarget }) => setUrl(currentTarget.value)}
        />
      </label>
      <label>
        Token (if it needs one)
        <input
          type="password"
          autocomplete="off"
          value={token}
          onInput={({ currentTarget }) => setToken(currentTarget.value)}
        />
      </label>
      <button type="submit">Add the server</button>
    </form>
  );
}
