import type { Certificate } from '../../../shared/certificates/certificate.ts';

/**
 * Where a certificate comes from: ordered over ACME (`acme`), posted to the Admin API (`pushed`), sent by a controller (`applied`),
 * placed as files in the certificate directory (`file`), or issued by the internal authority (`internal`, never stored).
 */
export type CertificateSource = 'acme' | 'pushed' | 'applied' | 'file' | 'internal';

/** The controller that applied a certificate, and the source it came from. */
export type CertificateOwner = { readonly controller: string; readonly source: string };

/** A stored certificate without its PEM texts, so that thousands fit into memory. */
export type StoredCertificate = Omit<Certificate, 'chain' | 'privateKey'> & {
  /** Unique in the store and stable over renewals: `acme/a.test`. */
  readonly id: string;
  readonly source: CertificateSource;
  /** The names that it is used for, which may be fewer than it covers. */
  readonly domains: readonly string[];
  /** Milliseconds since 1970. */
  readonly savedAt: number;
  /** The URL of its ACME order. */
  readonly order: string | null;
  /** The ARI CertID (RFC 9773 4.1). */
  readonly ariId: string | null;
  /** Only for `applied` certificates; absent if unknown. */
  readonly owner?: CertificateOwner;
};

/** An unusable certificate file or folder. It is treated as absent. */
export type StoreProblem = { readonly id: string; readonly source: CertificateSource; readonly reason: string };

export type StoreContents = { readonly certificates: readonly StoredCertificate[]; readonly problems: readonly StoreProblem[] };

/** New or changed certificates, the ids of removed ones, and all current problems. */
export type StoreChange = {
  readonly put: readonly StoredCertificate[];
  readonly removed: readonly string[];
  readonly problems: readonly StoreProblem[];
};

/** A certificate to store. It replaces one with the same source and domains. */
export type NewCertificate = {
  readonly source: 'acme' | 'pushed' | 'applied';
  /** Lower case; at least one. */
  readonly domains: readonly string[];
  readonly pair: Certificate;
  readonly order?: string;
  readonly ariId?: string;
  readonly owner?: CertificateOwner;
};

/** The exclusive right to do something, which expires on its own. */
export interface Lease {
  /** Extends the lease to its full duration from now. @returns false when another process holds it now. */
  renew(): Promise<boolean>;
  release(): Promise<void>;
}

/** Other shared data: orders in progress by name, challenge responses by token, and instances by id. */
export type Bucket = 'orders' | 'challenges' | 'instances';
