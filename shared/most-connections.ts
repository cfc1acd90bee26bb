/** A limit of connections above this is a typing error. */
export const MOST_CONNECTIONS = 10_000_000;
