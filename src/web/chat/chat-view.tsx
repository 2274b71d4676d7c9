// The view of chat.

export function ChatView() {
  return <section aria-label="Chat" />;
}
