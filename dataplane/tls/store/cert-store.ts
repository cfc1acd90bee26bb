import type { Certificate } from '../../../shared/certificates/certificate.ts';

/**
 * Who brought a certificate: an authority on our order (`acme`), somebody over the Admin API (`pushed`), a controller (`applied`), somebody who
 * put files where the store looks (`file`), or our own authority (`internal`, never stored).
 */
export type CertificateSource = 'acme' | 'pushed' | 'applied' | 'file' | 'internal';

/** Which controller applied a certificate, and from which of its sources it had it. */
export type CertificateOwner = { readonly controller: string; readonly source: string };

/** A certificate that a store holds, without its PEM texts: thousands of them fit into memory. */
export type StoredCertificate = Omit<Certificate, 'chain' | 'privateKey'> & {
  /** Its own within the store, whatever comes after it: `acme/a.test`. */
  readonly id: string;
  readonly source: CertificateSource;
  /** The names that it is used for: those that it was brought for, which may be fewer than it has. */
  readonly domains: readonly string[];
  /** Milliseconds since 1970. */
  readonly savedAt: number;
  /** The URL of the order that it came from. */
  readonly order: string | null;
  /** What a renewal calls it (RFC 9773 4.1). */
  readonly ariId: string | null;
  /** Of an `applied` one; absent where it can't be told. */
  readonly owner?: CertificateOwner;
};

/** Something that lies where a certificate should, and can't be used. It counts as absent. */
export type StoreProblem = { readonly id: string; readonly source: CertificateSource; readonly reason: string };

export type StoreContents = { readonly certificates: readonly StoredCertificate[]; readonly problems: readonly StoreProblem[] };

/** What became different: new or other certificates, the ids of those that went, and all problems there are now. */
export type StoreChange = {
  readonly put: readonly StoredCertificate[];
  readonly removed: readonly string[];
  readonly problems: readonly StoreProblem[];
};

/** A certificate to keep. The same source and domains again replace what there was. */
export type NewCertificate = {
  readonly source: 'acme' | 'pushed' | 'applied';
  /** Lower case; at least one. */
  readonly domains: readonly string[];
  readonly pair: Certificate;
  readonly order?: string;
  readonly ariId?: string;
  readonly owner?: CertificateOwner;
};

/** The right to do something that one process at a time does. It ends by itself when its time is over. */
export interface Lease {
  /** Takes its whole time again from now. @returns false when somebody else has it by now. */
  renew(): Promise<boolean>;
  release(): Promise<void>;
}

/** What else is shared: orders under way, by name; what answers a challenge, by token; and who shares it. */
export type Bucket = 'orders' | 'challenges' | 'instances';

/** Where certificates and accounts outlive the process; perhaps shared with others. All times in milliseconds. */
export interface CertStore {
  /** Everything in it, after a look at what changed. */
  list(): Promise<StoreContents>;
  /** Makes sure that something can be kept. @throws the system's error. */
  prepare(): Promise<void>;
  /** null where there is none, or none that can be used. */
  get(id: string): Promise<Certificate | null>;
  /** Resolves when it is safe on disk. @throws the system's error; then what there was stays. */
  put(certificate: NewCertificate): Promise<StoredCertificate>;
  /** @returns false where there is none, or it was put there by hand and is not ours to delete. */
  delete(id: string): Promise<boolean>;
  /** null: somebody has it. One whose time is over, because its owner crashed, is free. */
  lock(name: string, ttlMs: number): Promise<Lease | null>;
  /** What was ordered for a name, after a look at it; null where there is none, or none that can be used. */
  refresh(name: string): Promise<StoredCertificate | null>;
  /** The names of the notes that there are. */
  keys(kind: Bucket): Promise<string[]>;
  /** null where there is none. */
  read(kind: Bucket, name: string): Promise<string | null>;
  /** Resolves when it is there for others and for the next process; null deletes it. @throws the system's error. */
  write(kind: Bucket, name: string, text: string | null): Promise<void>;
  /** Tells of every change, our own and those of others. The returned function ends it. */
  watch(listener: (change: StoreChange) => void): () => void;
  /** What was kept of the account at the authority with this directory URL. */
  account(directory: string): Promise<string | null>;
  putAccount(directory: string, text: string): Promise<void>;
  /** Ends all watching. What is under way is finished first. */
  close(): Promise<void>;
}
