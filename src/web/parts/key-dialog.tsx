// The dialog that asks for the server's key.

import { useEffect, useRef } from 'preact/hooks';
import { giveKey, keyWanted } from '../api/call.ts';

export function KeyDialog() {
  const dialog = useRef<HTMLDialogElement>(null);
  const input = useRef<HTMLInputElement>(null);
  const wanted = keyWanted.value;
  useEffect(() => {
    if (wanted) dialog.current?.showModal();
    else dialog.current?.close();
  }, [wanted]);
  return (
    <dialog ref={dialog} aria-labelledby="key-title" onCancel={(event) => event.preventDefault()}>
      <form
        method="dialog"
        onSubmit={(event) => {
          event.preventDefault();
          giveKey(input.current!.value.trim());
        }}
      >
        <h2 id="key-title">Key of this server</h2>
        <p>{wanted?.reason}</p>
        <label>
          Key <input ref={input} type="password" autocomplete="off" required />
        </label>
        <button type="submit">Use this key</button>
      </form>
    </dialog>
  );
}
