import { createPrivateKey } from 'node:crypto';
import * as z from 'zod';
import type { Log } from '../../../../shared/runtime/log/log.ts';
import type { DirectoryStore } from '../../store/directory-store.ts';
import { AccountGoneError, IssueError, type IssueFailureKind } from '../issue-error.ts';
import { type Account, AcmeClient, type AcmeSettings } from './acme-client.ts';
import { newPrivateKey } from './private-key.ts';

/** Failures that an authority may cause by changing its URLs: nobody responds at the old ones, or someone else does. */
const MAY_HAVE_MOVED: ReadonlySet<IssueFailureKind> = new Set(['unreachable', 'refused']);

/** Our account at the authority: registered on first use and kept in the store. */
export class AccountManager {
  private readonly store: DirectoryStore;
  private readonly log: Log;
  private settings: AcmeSettings | null = null;
  private client: Promise<AcmeClient> | null = null;

  constructor(store: DirectoryStore, log: Log) {
    this.store = store;
    this.log = log;
  }

  /** Uses this authority from now on; null: none. */
  setAcme(settings: AcmeSettings | null): void {
    this.settings = settings;
    this.client = null;
  }

  /**
   * Runs `task` with our account. If the authority no longer knows the account, registers a new one and retries once. @throws what `task`
   * throws.
   */
  async withClient(task: (client: AcmeClient) => Promise<void>): Promise<void> {
    const { settings } = this;
    if (settings === null) throw new Error('no certificate authority is configured');
    const used = this.client ?? this.open(settings);
    this.client = used;
    try {
      await task(await used);
    } catch (error) {
      if (!(error instanceof AccountGoneError) || settings !== this.settings) {
        // Its root certificate or its URLs may have changed: the next order reads both again.
        if (error instanceof IssueError && MAY_HAVE_MOVED.has(error.kind) && this.client === used) this.client = null;
        throw error;
      }
      // If many orders fail like this at once, only one registers the new account. Another order may have been refused for it.
      if (this.client === used || this.client === null) this.client = this.reopen(settings, error, used);
      await task(await this.client);
    } finally {
      // The next order retries an account that could not be opened.
      await this.client?.catch(() => {
        this.client = null;
      });
    }
  }

  private async open(settings: AcmeSettings): Promise<AcmeClient> {
    const saved = await this.saved(settings);
    const { account } = saved;
    if (account === null || isBoundElsewhere(account, settings)) return this.register(settings, saved);
    const client = await AcmeClient.open(settings, account);
    await this.updateContact(client, account, settings);
    return client;
  }

  /** If the authority does not accept another e-mail address, orders go on, and it is told again when the account is opened again. */
  private async updateContact(client: AcmeClient, account: RegisteredAccount, settings: AcmeSettings): Promise<void> {
    const { email, kid } = account;
    const current = { ...account, ...described(client.account, settings) };
    if (email === current.email && kid === current.kid) return;
    try {
      if (current.email !== undefined && email !== current.email) await client.setContact(current.email);
      await this.store.putAccount(settings.directory, JSON.stringify(current));
    } catch (error) {
      this.log.warn({ reason: String(error) }, 'the e-mail address could not be changed at the certificate authority');
    }
  }

  private async reopen(settings: AcmeSettings, { message }: AccountGoneError, used: Promise<AcmeClient>): Promise<AcmeClient> {
    const gone = await used.catch(() => null);
    const { account, next } = await this.saved(settings);
    // Another order has registered one since.
    if (account !== null && gone !== null && account.url !== gone.account.url) return this.open(settings);
    // Without an account, the one that is gone is that of the saved key.
    const client = await this.register(settings, { account, next: account === null ? null : next });
    this.log.warn({ reason: message }, 'registered a new account at the certificate authority');
    return client;
  }

  /**
   * Its key is saved first: while the disk is full, no account is registered, since each further attempt would register another one. An
   * authority that knows the key already returns its account (RFC 8555 7.3.1).
   */
  private async register(settings: AcmeSettings, { account, next }: SavedAccount): Promise<AcmeClient> {
    const key = next ?? newPrivateKey();
    if (next === null) await this.store.putAccount(settings.directory, JSON.stringify({ ...account, next: key }));
    const client = await AcmeClient.open(settings, { key, url: null });
    await this.store.putAccount(settings.directory, JSON.stringify(described(client.account, settings)));
    return client;
  }

  /** Registering a new account is cheap, and existing certificates do not depend on the old one, so a damaged one counts as none. */
  private async saved({ directory }: AcmeSettings): Promise<SavedAccount> {
    const text = await this.store.account(directory);
    const saved = text === null ? NONE : parseAccount(text);
    if (saved === null) this.log.warn({ directory }, 'the saved account for the certificate authority is damaged: registering a new one');
    return saved ?? NONE;
  }
}

const keySchema = z.string().refine(isKey);
const accountSchema = z.object({
  key: keySchema,
  url: z.url({ protocol: /^https$/ }),
  /** What it was registered with, as far as that is known: files of earlier versions have neither. */
  email: z.string().optional(),
  kid: z.string().optional(),
});
type RegisteredAccount = z.output<typeof accountSchema>;

/** Our account, and the key of one that is being registered. */
type SavedAccount = { readonly account: RegisteredAccount | null; readonly next: string | null };
const NONE: SavedAccount = { account: null, next: null };

/** An account with the settings that it is registered with. */
const described = ({ key, url }: Account, { email, binding }: AcmeSettings): RegisteredAccount => ({
  ...{ key, url },
  ...(email !== null && { email }),
  ...(binding !== null && { kid: binding.kid }),
});

/** An account is bound to another one of the authority when it is registered (RFC 8555 7.3.4), so another binding needs a new account. */
const isBoundElsewhere = ({ kid }: RegisteredAccount, { binding }: AcmeSettings): boolean =>
  binding !== null && kid !== undefined && kid !== binding.kid;

const nextSchema = z.object({ next: keySchema });

/** null if the text is truncated or not ours. It holds a secret, so no error quotes it. */
function parseAccount(text: string): SavedAccount | null {
  try {
    const value: unknown = JSON.parse(text);
    const account = accountSchema.safeParse(value).data ?? null;
    const next = nextSchema.safeParse(value).data?.next ?? null;
    return account === null && next === null ? null : { account, next };
  } catch {
    // Not JSON: as useless as JSON that is not an account.
    return null;
  }
}

function isKey(text: string): boolean {
  try {
    return createPrivateKey(text).type === 'private';
  } catch {
    // The library's error adds nothing.
    return false;
  }
}
