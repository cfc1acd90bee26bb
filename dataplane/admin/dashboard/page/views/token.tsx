import { useEffect, useRef, useState } from 'preact/hooks';
import { TOKEN } from '../strings.ts';

/** Asks for the token of the Admin API. */
export function TokenView({ refused, enter }: { refused: boolean; enter: (token: string) => void }) {
  const [token, setToken] = useState('');
  const field = useRef<HTMLInputElement>(null);
  useEffect(() => field.current?.focus(), []);
  return (
    <main class="token">
      <form
        class="card"
        onSubmit={(event) => {
          event.preventDefault();
          if (token.trim() !== '') enter(token.trim());
        }}
      >
        <h1>{TOKEN.title}</h1>
        <p>{TOKEN.explanation}</p>
        <label for="token">{TOKEN.label}</label>
        <input
          id="token"
          type="password"
          autocomplete="off"
          required
          ref={field}
          value={token}
          aria-describedby="token-hint"
          aria-invalid={refused}
          onInput={(event) => setToken(event.currentTarget.value)}
        />
        <p class="note" id="token-hint">
          {TOKEN.hint}
        </p>
        {refused && (
          <p role="alert" class="poor-text">
            {TOKEN.refused}
          </p>
        )}
        <button type="submit">{TOKEN.submit}</button>
      </form>
    </main>
  );
}
