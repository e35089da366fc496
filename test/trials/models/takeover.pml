/* Takeover on PostgreSQL (schema.ts, postgres-journal.ts, journal-tail.ts): two nodes that lead and
 * replay, crash and pause; appends that arrive late, whose answer is lost, or whose leader is gone;
 * edges that send a command again, with its key, to whoever leads.
 *
 * Bounds: 2 nodes, 2 commands with a key each, sent twice at most, 4 rows, 2 ends of a lease, 2
 * crashes. A pause is any interleaving. The database does one statement after the other. A lease may
 * end at any time, so nothing rests on clocks. An exchange whose append has an unknown fate ends.
 */
#define ROWS 4
byte epoch, last, row[ROWS + 1], keyAt[3];      /* keyAt: the row that has a key, 0: none */
byte answered[3], ends, crashes, told;          /* told: the youngest epoch that has answered */
bool expired = true;
chan requests = [2] of { byte };
chan appends = [2] of { byte, byte, byte, byte, byte };    /* node, life, epoch, end before it, key */
chan fates[2] = [1] of { bool };        /* on the connection of the node's present life */
byte life[2];

/* schema.ts APPEND_SQL: WHERE epoch = $1 AND last_sequence = $2 - 1. The second is a second guard:
 * the epoch alone suffices, so nothing is found without it. */
#ifdef NO_EPOCH
#define IN_EPOCH true
#else
#define IN_EPOCH (epoch == mine)
#endif
#define AT_END (last == end)

inline readJournal() { atomic { pos = last; seen = 0;
  assert(!answered[1] || row[answered[1]] == 1);        /* what was answered is in the journal */
  assert(!answered[2] || row[answered[2]] == 2);
  for (i : 1 .. last) { seen = seen | (1 << row[i]) }; i = 0 } }

inline answer(key, at) { atomic {
  if
  :: answered[key] = at; assert(row[at] == key)
  :: true                                             /* the answer is lost */
  fi } }

proctype Node(byte id) {
  byte mine, pos, seen, i, key; bool done;
standby:
  atomic { if :: nempty(fates[id]) -> fates[id] ? _ :: empty(fates[id]) fi;
    life[id]++; mine = 0; pos = 0; seen = 0; key = 0; i = 0; done = false };
#ifdef NO_CATCH_UP              /* journal-tail.ts: reads on after the epoch is its own */
  readJournal();
#endif
end_standby:
  atomic { expired && epoch < 5 -> expired = false;
#ifndef NO_RAISE                /* schema.ts TAKE_OVER_SQL: epoch + 1 */
    epoch++;
#endif
    mine = epoch };
#ifndef NO_CATCH_UP
  readJournal();
#endif
end_lead:
  do
  :: atomic { requests ? key ->
       /* Nobody else has written since: reads of the youngest leader show the end. */
       assert(epoch != mine || last == pos) };
#ifndef NO_KEYS                 /* idempotency.ts: a key that was executed gets its answer again */
     if :: seen & (1 << key) -> answer(key, keyAt[key]); goto end_lead :: else fi;
#endif
#ifdef RELEASE_EARLY            /* sequencer.ts: releaseAt() waits for the commit */
     answered[key] = pos + 1;
#endif
     appends ! id, life[id], mine, pos, key;
     if
     :: fates[id] ? done ->
        if :: done -> pos++; seen = seen | (1 << key) :: else -> goto standby fi;
        answer(key, pos)
     :: atomic { crashes < 2 -> crashes++ };          /* the connection is lost, the fate unknown */
#ifdef ASSUME_COMMITTED         /* postgres-journal.ts: unknownFate() */
        pos++; answer(key, pos);
#endif
        goto standby
     fi
  :: atomic { crashes < 2 -> crashes++; goto standby }
  od
}

active proctype Database() { byte id, old, mine, end, key;
end_database:
  do
  :: atomic { appends ? id, old, mine, end, key ->
       if
       :: last < ROWS && IN_EPOCH && AT_END ->
          last++; row[last] = key; assert(keyAt[key] == 0);     /* nothing is executed twice */
          keyAt[key] = last;
          assert(mine >= told); told = mine;                    /* nor in an older epoch */
          if :: life[id] == old -> fates[id] ! true :: else fi
       :: else -> if :: life[id] == old -> fates[id] ! false :: else fi
       fi; id = 0; old = 0; mine = 0; end = 0; key = 0 }
  od
}

proctype Client(byte key) { byte sent;
  do
  :: sent < 2 && !answered[key] ->
end_client:                     /* nobody may lead any more */
     requests ! key; sent++
  :: sent == 2 || answered[key] -> break
  od
}

active proctype Lease() { do :: atomic { !expired && ends < 2 -> expired = true; ends++ } :: ends == 2 -> break od }

init { atomic { run Node(0); run Node(1); run Client(1); run Client(2) } }
