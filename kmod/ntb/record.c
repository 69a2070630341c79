// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * What the two drivers of a link tell each other: a record of 16 words, in the scratchpads of the odd port of who says it, who
 * alone writes them.
 *
 *   0       RECORD_ID, and a sequence number, which is odd while the others change
 *   1       queue pair, and FLAG_*
 *   2       queue pair of the peer to which that one is connected, and the high 8 bits of the queue pair of copies
 *   3       sequence number of the peer's record that has been followed, which changes by itself; and the low 16 bits of that one
 *   4, 5... STag of the memory that the peer's window 0 shows, and its pages of 4 KiB; and so on
 *
 * Words arrive in the order in which they were written, and the bell behind them.
 */
#include "ntb.h"

/* Of drivers that understand each other. */
#define EXRNIC_NTB_RECORD_ID		0x4e01u
#define EXRNIC_NTB_RECORD_QPN		GENMASK(23, 0)
#define EXRNIC_NTB_FLAG_ENABLED		BIT(24)
#define EXRNIC_NTB_FLAG_READY		BIT(25)
#define EXRNIC_NTB_FLAG_UP		BIT(26)
#define EXRNIC_NTB_BELL			BIT(0)

enum exrnic_ntb_word {
	EXRNIC_NTB_WORD_SEQ,
	EXRNIC_NTB_WORD_QPN,
	EXRNIC_NTB_WORD_PEER_QPN,
	EXRNIC_NTB_WORD_FOLLOWED,
	EXRNIC_NTB_WORD_PLACES,
};
static_assert(EXRNIC_NTB_WORD_PLACES + 2 * EXRNIC_NTB_WINDOWS_MAX <= EXRNIC_PORT_SPADS);

static bool exrnic_ntb_record_is_told(const struct exrnic_ntb_link *link, u32 index, u32 value)
{
	return test_bit(index, &link->told_words) && link->told[index] == value;
}

static void exrnic_ntb_record_word(struct exrnic_ntb_link *link, u32 index, u32 value)
{
	if (exrnic_ntb_record_is_told(link, index, value) || exrnic_port_set_spad(&link->control_port, false, index, value))
		return;
	link->told[index] = value;
	__set_bit(index, &link->told_words);
}

static void exrnic_ntb_record_seq(struct exrnic_ntb_link *link, u16 seq)
{
	exrnic_ntb_record_word(link, EXRNIC_NTB_WORD_SEQ, EXRNIC_NTB_RECORD_ID << 16 | seq);
}

static void exrnic_ntb_record_followed(struct exrnic_ntb_link *link, u16 seq)
{
	link->followed_seq = seq;
	exrnic_ntb_record_word(link, EXRNIC_NTB_WORD_FOLLOWED, link->record.copies_qpn << 16 | seq);
}

void exrnic_ntb_record_tell(struct exrnic_ntb_link *link)
{
	const struct exrnic_ntb_record *record = &link->record;
	const u32 flags = (record->enabled ? EXRNIC_NTB_FLAG_ENABLED : 0) |
			  (record->ready ? EXRNIC_NTB_FLAG_READY : 0) | (record->up ? EXRNIC_NTB_FLAG_UP : 0);
	u32 i;

	link->record.seq += 2;
	exrnic_ntb_record_seq(link, record->seq - 1);
	exrnic_ntb_record_word(link, EXRNIC_NTB_WORD_QPN, record->qpn | flags);
	exrnic_ntb_record_word(link, EXRNIC_NTB_WORD_PEER_QPN, record->peer_qpn | record->copies_qpn >> 16 << 24);
	exrnic_ntb_record_followed(link, link->followed_seq);
	for (i = 0; i < EXRNIC_NTB_WINDOWS_MAX; i++) {
		exrnic_ntb_record_word(link, EXRNIC_NTB_WORD_PLACES + 2 * i, record->places[i].stag);
		exrnic_ntb_record_word(link, EXRNIC_NTB_WORD_PLACES + 2 * i + 1, record->places[i].pages);
	}
	exrnic_ntb_record_seq(link, record->seq);
	exrnic_port_ring(&link->control_port, EXRNIC_NTB_BELL);
}

void exrnic_ntb_record_follow(struct exrnic_ntb_link *link, u16 seq)
{
	if (link->followed_seq == seq)
		return;
	exrnic_ntb_record_followed(link, seq);
	exrnic_port_ring(&link->control_port, EXRNIC_NTB_BELL);
}

void exrnic_ntb_record_forget(struct exrnic_ntb_link *link)
{
	link->told_words = 0;
	link->followed_seq = 0;
}

static bool exrnic_ntb_record_words(struct exrnic_ntb_link *link, u32 *words)
{
	u32 i, seq;

	for (i = 0; i < EXRNIC_PORT_SPADS; i++)
		if (exrnic_port_get_spad(&link->control_port, true, i, &words[i]))
			return false;
	return !exrnic_port_get_spad(&link->control_port, true, EXRNIC_NTB_WORD_SEQ, &seq) &&
	       seq == words[EXRNIC_NTB_WORD_SEQ];
}

bool exrnic_ntb_record_hear(struct exrnic_ntb_link *link, struct exrnic_ntb_record *record, u16 *followed)
{
	u32 words[EXRNIC_PORT_SPADS];
	u32 i;

	if (!exrnic_ntb_record_words(link, words) || words[EXRNIC_NTB_WORD_SEQ] >> 16 != EXRNIC_NTB_RECORD_ID ||
	    words[EXRNIC_NTB_WORD_SEQ] & 1)
		return false;
	*record = (struct exrnic_ntb_record){
		.seq = words[EXRNIC_NTB_WORD_SEQ],
		.qpn = words[EXRNIC_NTB_WORD_QPN] & EXRNIC_NTB_RECORD_QPN,
		.peer_qpn = words[EXRNIC_NTB_WORD_PEER_QPN] & EXRNIC_NTB_RECORD_QPN,
		.copies_qpn = words[EXRNIC_NTB_WORD_PEER_QPN] >> 24 << 16 | words[EXRNIC_NTB_WORD_FOLLOWED] >> 16,
		.enabled = words[EXRNIC_NTB_WORD_QPN] & EXRNIC_NTB_FLAG_ENABLED,
		.ready = words[EXRNIC_NTB_WORD_QPN] & EXRNIC_NTB_FLAG_READY,
		.up = words[EXRNIC_NTB_WORD_QPN] & EXRNIC_NTB_FLAG_UP,
	};
	for (i = 0; i < EXRNIC_NTB_WINDOWS_MAX; i++) {
		record->places[i].stag = words[EXRNIC_NTB_WORD_PLACES + 2 * i];
		record->places[i].pages = words[EXRNIC_NTB_WORD_PLACES + 2 * i + 1];
	}
	*followed = words[EXRNIC_NTB_WORD_FOLLOWED];
	return true;
}
